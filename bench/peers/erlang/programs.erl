%% SPDX-License-Identifier: MIT
%% Rows that are small programs.
-module(programs).
-compile(inline).
-export([philosophers/1, buffer/1, dictionary/1, quicksort/1, nqueens/1, sieve/1, chat/1]).
-export([sort/5, work/2]).

-include("bench.hrl").

-define(PHILOSOPHERS, 20).
-define(PRODUCERS, 40).
-define(CONSUMERS, 40).
-define(BUFFER, 50).
-define(KEYS, 65536).
-define(ASKERS, 20).
-define(SORT_AT_ONCE, 2048).
-define(WORKERS, 20).
-define(QUEENS_OF_MASTER, 4).
-define(PRIMES, 1000).
-define(NEW_PRIMES, 32).
-define(ROOMS, 32).
-define(MEMBERS, 8).

%% N times X = X * 6364136223846793005 + 1442695040888963407 on 64 bits. Small numbers have 60, so
%% that X is {Low 24 bits, next 24, high 16}.
work(N, {X0, X1, X2}) -> work(N, X0, X1, X2).

work(0, X0, X1, X2) -> {X0, X1, X2};
work(N, X0, X1, X2) ->
    Y0 = X0 * 16#957F2D + 16#67814F,
    Y1 = X0 * 16#F42D4C + X1 * 16#957F2D + (Y0 bsr 24) + 16#7B7EF7,
    Y2 = X0 * 16#5851 + X1 * 16#F42D4C + X2 * 16#957F2D + (Y1 bsr 24) + 16#1405,
    work(N - 1, Y0 band 16#FFFFFF, Y1 band 16#FFFFFF, Y2 band 16#FFFF).

%% philosophers: [Philosopher | Forks] asks for two forks of a set of bits, Forks gives them back

philosophers(Size) ->
    Main = self(),
    Arbiter = spawn(fun() -> arbiter(0, 0, Main) end),
    All = [spawn(fun() -> receive go -> philosopher(Arbiter, forks(I), Size, Main, 0) end end)
           || I <- lists:seq(0, ?PHILOSOPHERS - 1)],
    {Seconds, Meals} = bench:time(fun() ->
        [Philosopher ! go || Philosopher <- All],
        lists:sum([receive {meals, N} -> N end || _ <- All])
    end),
    Arbiter ! stop,
    receive {arbiter, Result} -> ok end,
    bench:check("forks in use and grants", Result, {0, ?PHILOSOPHERS * Size}),
    bench:check("meals", Meals, ?PHILOSOPHERS * Size),
    {Seconds, ?PHILOSOPHERS * Size}.

forks(I) -> (1 bsl I) bor (1 bsl ((I + 1) rem ?PHILOSOPHERS)).

philosopher(_, _, 0, Main, Meals) ->
    Main ! {meals, Meals};
philosopher(Arbiter, Forks, Left, Main, Meals) ->
    Arbiter ! [self() | Forks],
    receive
        granted ->
            Arbiter ! Forks,
            philosopher(Arbiter, Forks, Left - 1, Main, Meals + 1);
        refused ->
            philosopher(Arbiter, Forks, Left, Main, Meals)
    end.

arbiter(Used, Grants, Main) ->
    receive
        [Philosopher | Forks] when Used band Forks =:= 0 ->
            Philosopher ! granted,
            arbiter(Used bor Forks, Grants + 1, Main);
        [Philosopher | _] ->
            Philosopher ! refused,
            arbiter(Used, Grants, Main);
        Forks when is_integer(Forks) ->
            Used band Forks =:= Forks orelse bench:fail("a fork that was not used", []),
            arbiter(Used bxor Forks, Grants, Main);
        stop ->
            Main ! {arbiter, {Used, Grants}}
    end.

%% buffer: [Producer | Item] or {last, Item} brings an item, a consumer's identifier asks for one

buffer(Size) ->
    Main = self(),
    Manager = spawn(fun() ->
        receive {producers, All} -> ask(All, 0, [], [], 0, ?PRODUCERS * Size) end
    end),
    Producers = [spawn(fun() -> make_items(1, Size, Manager, {I, 0, 0}, Main) end)
                 || I <- lists:seq(1, ?PRODUCERS)],
    Consumers = [spawn(fun() -> receive go -> use_items(0, 0, Manager, {I, 1, 0}, Main) end end)
                 || I <- lists:seq(1, ?CONSUMERS)],
    {Seconds, Used} = bench:time(fun() ->
        Manager ! {producers, Producers},
        [Consumer ! go || Consumer <- Consumers],
        [receive {used, Count, Sum, {_, _, _}} -> {Count, Sum} end || _ <- Consumers]
    end),
    [receive {made, {_, _, _}} -> ok end || _ <- Producers],
    {Counts, Sums} = lists:unzip(Used),
    bench:check("items", lists:sum(Counts), ?PRODUCERS * Size),
    bench:check("sum", lists:sum(Sums), ?PRODUCERS * Size * (Size + 1) div 2),
    {Seconds, ?PRODUCERS * Size}.

make_items(Item, Last, Manager, X, Main) ->
    receive
        more ->
            X1 = work(25, X),
            case Item of
                Last ->
                    Manager ! {last, Item},
                    Main ! {made, X1};
                _ ->
                    Manager ! [self() | Item],
                    make_items(Item + 1, Last, Manager, X1, Main)
            end
    end.

use_items(Count, Sum, Manager, X, Main) ->
    Manager ! self(),
    receive
        Item when is_integer(Item) ->
            use_items(Count + 1, Sum + Item, Manager, work(25, X), Main);
        stop ->
            Main ! {used, Count, Sum, X}
    end.

%% Asks idle producers while there is room for what is asked for. Items are a stack; either Ready
%% or Items is empty.
ask([Producer | Idle], Asked, Ready, Items, Stored, Left) when Stored + Asked < ?BUFFER ->
    Producer ! more,
    ask(Idle, Asked + 1, Ready, Items, Stored, Left);
ask(_, _, Ready, _, _, 0) ->
    send_all(Ready, stop),
    stop_rest(?CONSUMERS - length(Ready));
ask(Idle, Asked, Ready, Items, Stored, Left) ->
    receive
        Consumer when is_pid(Consumer) ->
            case Items of
                [Item | More] ->
                    Consumer ! Item,
                    ask(Idle, Asked, Ready, More, Stored - 1, Left - 1);
                [] ->
                    ask(Idle, Asked, [Consumer | Ready], Items, Stored, Left)
            end;
        [Producer | Item] ->
            store(Item, [Producer | Idle], Asked - 1, Ready, Items, Stored, Left);
        {last, Item} ->
            store(Item, Idle, Asked - 1, Ready, Items, Stored, Left)
    end.

store(Item, Idle, Asked, [Consumer | Ready], Items, Stored, Left) ->
    Consumer ! Item,
    ask(Idle, Asked, Ready, Items, Stored, Left - 1);
store(Item, Idle, Asked, [], Items, Stored, Left) ->
    ask(Idle, Asked, [], [Item | Items], Stored + 1, Left).

stop_rest(0) -> ok;
stop_rest(Left) -> receive Consumer -> Consumer ! stop, stop_rest(Left - 1) end.

send_all([], _) -> ok;
send_all([To | More], Message) -> To ! Message, send_all(More, Message).

%% dictionary: [Asker | Key] reads, {Asker, Key, Value} writes; the answer is the value

dictionary(Size) ->
    Main = self(),
    Holder = spawn(fun() ->
        Map = maps:from_list([{Key, Key} || Key <- lists:seq(0, ?KEYS - 1)]),
        garbage_collect(),
        Main ! ready,
        hold(Map, 0, Main)
    end),
    receive ready -> ok end,
    Askers = [spawn(fun() -> receive go -> inquire(Size, Holder, ?SEED(I), Main) end end)
              || I <- lists:seq(1, ?ASKERS)],
    {Seconds, _} = bench:time(fun() ->
        [Asker ! go || Asker <- Askers],
        [receive answered -> ok end || _ <- Askers]
    end),
    Holder ! stop,
    receive {requests, N} -> bench:check("requests", N, ?ASKERS * Size) end,
    {Seconds, ?ASKERS * Size}.

hold(Map, Requests, Main) ->
    receive
        [Asker | Key] ->
            Asker ! map_get(Key, Map),
            hold(Map, Requests + 1, Main);
        {Asker, Key, Value} ->
            Asker ! Value,
            hold(Map#{Key := Value}, Requests + 1, Main);
        stop ->
            Main ! {requests, Requests}
    end.

inquire(0, _, _, Main) ->
    Main ! answered;
inquire(Left, Holder, Random, Main) ->
    Key = Random band (?KEYS - 1),
    Next = ?NEXT(Random),
    case ?BELOW(Next, 10) of
        0 -> Holder ! {self(), Key, Key};
        _ -> Holder ! [self() | Key]
    end,
    receive
        Key -> inquire(Left - 1, Holder, ?NEXT(Next), Main);
        Other -> bench:fail("~p for key ~p", [Other, Key])
    end.

%% quicksort: the sorted parts go to the main actor with their places, which puts them together

quicksort(Size) ->
    Main = self(),
    First = spawn_opt(
        fun() ->
            List = random_list(Size, ?SEED(1), []),
            Main ! ready,
            receive go -> sort(List, Size, 0, Main, Main) end
        end, [{min_heap_size, 6 * Size}]),
    receive ready -> ok end,
    process_flag(message_queue_data, off_heap),
    process_flag(min_heap_size, 8 * Size),
    garbage_collect(),
    {Seconds, Sorted} = bench:time(fun() ->
        First ! go,
        receive done -> ok end,
        lists:append([Part || {_, Part} <- lists:keysort(1, parts(Size))])
    end),
    Sorted =:= lists:sort(random_list(Size, ?SEED(1), [])) orelse bench:fail("not sorted", []),
    {Seconds, Size}.

random_list(0, _, List) -> List;
random_list(Left, Random, List) ->
    random_list(Left - 1, ?NEXT(Random), [Random band 16#FFFFFFFF | List]).

parts(0) -> [];
parts(Missing) -> receive {Place, Length, Part} -> [{Place, Part} | parts(Missing - Length)] end.

sort(List, Length, Place, Parent, Main) when Length =< ?SORT_AT_ONCE ->
    Main ! {Place, Length, lists:sort(List)},
    Parent ! done;
sort(List, Length, Place, Parent, Main) ->
    Pivot = lists:nth(Length div 2 + 1, List),
    {Less, Lesses, Equal, Equals, More, Mores} = split(List, Pivot, [], 0, [], 0, [], 0),
    spawn_sort(Less, Lesses, Place, Main),
    spawn_sort(More, Mores, Place + Lesses + Equals, Main),
    Main ! {Place + Lesses, Equals, Equal},
    receive done -> ok end,
    receive done -> ok end,
    Parent ! done.

spawn_sort(List, Length, Place, Main) ->
    spawn_opt(?MODULE, sort, [List, Length, Place, self(), Main],
              [{min_heap_size, max(4 * Length, 32768)}]).

split([N | Rest], Pivot, Less, Lesses, Equal, Equals, More, Mores) ->
    if
        N < Pivot -> split(Rest, Pivot, [N | Less], Lesses + 1, Equal, Equals, More, Mores);
        N > Pivot -> split(Rest, Pivot, Less, Lesses, Equal, Equals, [N | More], Mores + 1);
        true -> split(Rest, Pivot, Less, Lesses, [N | Equal], Equals + 1, More, Mores)
    end;
split([], _, Less, Lesses, Equal, Equals, More, Mores) ->
    {Less, Lesses, Equal, Equals, More, Mores}.

%% nqueens: a board is {Queens, Columns, Left, Right}, the last three sets of bits: columns that
%% are taken, or attacked on a diagonal, in the next row. A worker tells what it has counted after
%% the boards that it sends back.

nqueens(Size) ->
    Main = self(),
    Full = (1 bsl Size) - 1,
    Master = spawn(fun() ->
        receive {workers, All} -> master([{0, 0, 0, 0}], 0, 0, All, All, Main) end
    end),
    Workers = [spawn(fun() -> place_queens(Master, Full) end) || _ <- lists:seq(1, ?WORKERS)],
    {Seconds, Solutions} = bench:time(fun() ->
        Master ! {workers, Workers},
        receive {solutions, N} -> N end
    end),
    Known = {1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512},
    bench:check("solutions", Solutions, element(Size, Known)),
    {Seconds, Solutions}.

master([Board], Open, Sum, [], All, Main) ->
    master([Board], Open, Sum, All, All, Main);
master([Board], Open, Sum, [Worker | Next], All, Main) ->
    Worker ! Board,
    master([], Open + 1, Sum, Next, All, Main);
master([], 0, Sum, _, _, Main) ->
    Main ! {solutions, Sum};
master([], Open, Sum, Next, All, Main) ->
    receive
        Solutions when is_integer(Solutions) ->
            master([], Open - 1, Sum + Solutions, Next, All, Main);
        Board ->
            master([Board], Open, Sum, Next, All, Main)
    end.

place_queens(Master, Full) ->
    receive
        {Queens, Columns, Left, Right} when Queens < ?QUEENS_OF_MASTER, Columns =/= Full ->
            Free = Full band bnot (Columns bor Left bor Right),
            send_boards(Free, Queens + 1, Columns, Left, Right, Master),
            Master ! 0;
        {_, Columns, Left, Right} ->
            Master ! solve(Columns, Left, Right, Full)
    end,
    place_queens(Master, Full).

send_boards(0, _, _, _, _, _) -> ok;
send_boards(Free, Queens, Columns, Left, Right, Master) ->
    Queen = Free band -Free,
    Master ! {Queens, Columns bor Queen, (Left bor Queen) bsl 1, (Right bor Queen) bsr 1},
    send_boards(Free bxor Queen, Queens, Columns, Left, Right, Master).

%% The columns that are not taken are a set, too; at most 16. The masks tell the compiler that no
%% number gets large, so that it need not look. A row without a free field costs no call.
solve(Full, _, _, Full) -> 1;
solve(Columns, Left, Right, Full) ->
    Open = Full bxor Columns,
    solve(Open band bnot (Left bor Right), Open, Left, Right, 0).

solve(0, _, _, _, Sum) -> Sum;
solve(Free, Open, Left, Right, Sum) ->
    Queen = Free band -Free,
    Open1 = (Open bxor Queen) band 16#FFFF,
    Left1 = ((Left bor Queen) * 2) band 16#FFFF,
    Right1 = ((Right bor Queen) bsr 1) band 16#FFFF,
    Sum1 = case Open1 band bnot (Left1 bor Right1) of
        0 when Open1 =:= 0 -> Sum + 1;
        0 -> Sum;
        Free1 -> solve(Free1, Open1, Left1, Right1, Sum)
    end,
    solve(Free band (Free - 1), Open, Left, Right, Sum1).

%% sieve: an actor has its primes in order, the newest apart, so that adding one costs little

sieve(Size) ->
    Main = self(),
    Filter = spawn(fun() -> filter([], [], 0, none, Main) end),
    Generator = spawn(fun() -> receive go -> generate(3, Size, Filter) end end),
    {Seconds, Primes} = bench:time(fun() ->
        Generator ! go,
        receive {primes, N} -> N end
    end),
    bench:check("primes", Primes, length([N || N <- lists:seq(2, Size), is_prime(N, 2)])),
    {Seconds, Size div 2}.

generate(N, Size, Filter) when N =< Size -> Filter ! N, generate(N + 2, Size, Filter);
generate(_, _, Filter) -> Filter ! {primes, 1}.

filter(Primes, New, Count, Next, Main) ->
    receive
        N when is_integer(N) ->
            case is_multiple(N, Primes) orelse is_multiple(N, New) of
                true -> filter(Primes, New, Count, Next, Main);
                false -> keep(N, Primes, New, Count, Next, Main)
            end;
        {primes, Sum} when Next =:= none ->
            Main ! {primes, Sum + Count};
        {primes, Sum} ->
            Next ! {primes, Sum + Count}
    end.

keep(N, Primes, New, Count, Next, Main) when Count < ?PRIMES ->
    case (Count + 1) rem ?NEW_PRIMES of
        0 -> filter(Primes ++ lists:reverse(New, [N]), [], Count + 1, Next, Main);
        _ -> filter(Primes, [N | New], Count + 1, Next, Main)
    end;
keep(N, Primes, New, Count, none, Main) ->
    keep(N, Primes, New, Count, spawn(fun() -> filter([], [], 0, none, Main) end), Main);
keep(N, Primes, New, Count, Next, Main) ->
    Next ! N,
    filter(Primes, New, Count, Next, Main).

%% Four primes at a time: the list costs less than one by one.
is_multiple(N, [P1, P2, P3, P4 | Primes]) ->
    if
        N rem P1 =:= 0; N rem P2 =:= 0; N rem P3 =:= 0; N rem P4 =:= 0 -> true;
        true -> is_multiple(N, Primes)
    end;
is_multiple(N, [Prime | Primes]) -> N rem Prime =:= 0 orelse is_multiple(N, Primes);
is_multiple(_, []) -> false.

is_prime(N, Factor) when Factor * Factor > N -> true;
is_prime(N, Factor) when N rem Factor =:= 0 -> false;
is_prime(N, Factor) -> is_prime(N, Factor + 1).

%% chat: a post is the identifier of the client

chat(Size) ->
    Main = self(),
    Rooms = [spawn(fun() -> receive {members, Members} -> room(Members) end end)
             || _ <- lists:seq(1, ?ROOMS)],
    Clients = [[spawn(fun() -> client(Size, Room, {I, 0, 0}, ?SEED(?MEMBERS * I + J), Main) end)
                || J <- lists:seq(1, ?MEMBERS)]
               || {Room, I} <- lists:zip(Rooms, lists:seq(1, ?ROOMS))],
    [Room ! {members, Members} || {Room, Members} <- lists:zip(Rooms, Clients)],
    {Seconds, Deliveries} = bench:time(fun() ->
        [[Client ! go || Client <- Members] || Members <- Clients],
        lists:sum([receive {deliveries, N, {_, _, _}} -> N end || _ <- lists:append(Clients)])
    end),
    bench:check("deliveries", Deliveries, ?ROOMS * ?MEMBERS * ?MEMBERS * Size),
    {Seconds, ?ROOMS * ?MEMBERS * Size * (?MEMBERS + 1)}.

room(Members) ->
    receive Client -> send_all(Members, Client) end,
    room(Members).

client(Size, Room, X, Random, Main) ->
    receive go -> turn(Size, ?MEMBERS * Size, Room, self(), X, Random, Main, 0) end.

turn(0, Missing, Room, Self, X, Random, Main, Got) ->
    listen(0, Missing, Room, Self, X, Random, Main, Got);
turn(Left, Missing, Room, Self, X, Random, Main, Got) ->
    X1 = case ?BELOW(Random, 10) of
        0 -> work(1000, X);
        _ -> X
    end,
    Room ! Self,
    listen(Left - 1, Missing, Room, Self, X1, ?NEXT(Random), Main, Got).

listen(_, 0, _, _, X, _, Main, Got) ->
    Main ! {deliveries, Got, X};
listen(Left, Missing, Room, Self, X, Random, Main, Got) ->
    receive
        Self -> turn(Left, Missing - 1, Room, Self, X, Random, Main, Got + 1);
        _ -> listen(Left, Missing - 1, Room, Self, X, Random, Main, Got + 1)
    end.
