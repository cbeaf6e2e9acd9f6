%% SPDX-License-Identifier: MIT
%% Rows that measure messages. Most messages are one word (a small number, an atom, a process
%% identifier): the VM has nothing to copy then.
-module(messages).
-compile(inline).
-export([pingpong/1, ring/1, counting/1, fanin/1, big/1, forkjoin/1, chameneos/1]).

-include("bench.hrl").

-define(RING, 503).
-define(PRODUCERS, 100).
-define(CHATTERS, 120).
-define(COUNTERS, 60).
-define(CREATURES, 100).

%% pingpong

pingpong(Size) ->
    Main = self(),
    Pong = spawn(fun() -> receive Ping -> pong(Ping, Main, 0) end end),
    Ping = spawn(fun() -> receive go -> ping(Size, Pong, Main, 0) end end),
    Pong ! Ping,
    {Seconds, _} = bench:time(fun() ->
        Ping ! go,
        receive {pings, Pongs} -> bench:check("pongs", Pongs, Size) end,
        receive {pongs, Pings} -> bench:check("pings", Pings, Size) end
    end),
    {Seconds, 2 * Size}.

ping(0, Pong, Main, Got) ->
    Pong ! stop,
    Main ! {pings, Got};
ping(Left, Pong, Main, Got) ->
    Pong ! Left,
    receive _ -> ping(Left - 1, Pong, Main, Got + 1) end.

pong(Ping, Main, Got) ->
    receive
        N when is_integer(N) -> Ping ! N, pong(Ping, Main, Got + 1);
        stop -> Main ! {pongs, Got}
    end.

%% ring

ring(Size) ->
    Main = self(),
    First = spawn(fun() -> receive Next -> member(Next, Main, 0) end end),
    Members = lists:foldl(
        fun(_, [Next | _] = All) -> [spawn(fun() -> member(Next, Main, 0) end) | All] end,
        [First], lists:seq(2, ?RING)),
    First ! hd(Members),
    {Seconds, _} = bench:time(fun() ->
        First ! Size,
        receive done -> ok end
    end),
    Hops = lists:sum([begin Member ! stop, receive {hops, N} -> N end end || Member <- Members]),
    bench:check("hops", Hops, Size),
    {Seconds, Size}.

member(Next, Main, Hops) ->
    receive
        N when is_integer(N), N > 0 -> Next ! N - 1, member(Next, Main, Hops + 1);
        0 -> Main ! done, member(Next, Main, Hops);
        stop -> Main ! {hops, Hops}
    end.

%% counting, fanin, forkjoin: who counts gets ones and, from each producer, a done

counting(Size) -> produce_all(1, Size).

fanin(Size) -> produce_all(?PRODUCERS, Size).

produce_all(Producers, Size) ->
    Main = self(),
    Counter = spawn_opt(fun() -> count(Producers, Main, 0) end, [{message_queue_data, off_heap}]),
    All = [spawn(fun() -> receive go -> produce(Size, Counter) end end)
           || _ <- lists:seq(1, Producers)],
    {Seconds, Sum} = bench:time(fun() ->
        [Producer ! go || Producer <- All],
        receive {sum, Got} -> Got end
    end),
    bench:check("sum", Sum, Producers * Size),
    {Seconds, Producers * Size}.

produce(0, Counter) -> Counter ! done;
produce(Left, Counter) -> Counter ! 1, produce(Left - 1, Counter).

count(Producers, Main, Sum) ->
    receive
        N when is_integer(N) -> count(Producers, Main, Sum + N);
        done when Producers =:= 1 -> Main ! {sum, Sum};
        done -> count(Producers - 1, Main, Sum)
    end.

forkjoin(Size) ->
    Main = self(),
    Counters = [spawn_opt(fun() -> count(1, Main, 0) end, [{message_queue_data, off_heap}])
                || _ <- lists:seq(1, ?COUNTERS)],
    Driver = spawn(fun() -> receive go -> drive(Size, Counters) end end),
    {Seconds, _} = bench:time(fun() ->
        Driver ! go,
        [receive {sum, Sum} -> bench:check("sum", Sum, Size) end || _ <- Counters]
    end),
    {Seconds, ?COUNTERS * Size}.

drive(0, Counters) -> send_all(Counters, done);
drive(Left, Counters) -> send_all(Counters, 1), drive(Left - 1, Counters).

send_all([], _) -> ok;
send_all([To | More], Message) -> To ! Message, send_all(More, Message).

%% big: a ping is the identifier of who asks, a pong is a number

big(Size) ->
    Main = self(),
    All = [spawn(fun() -> receive Others -> chatter(Others, Size, ?SEED(I), Main) end end)
           || I <- lists:seq(1, ?CHATTERS)],
    Group = list_to_tuple(All),
    [element(I, Group) ! erlang:delete_element(I, Group) || I <- lists:seq(1, ?CHATTERS)],
    {Seconds, _} = bench:time(fun() ->
        [Chatter ! start || Chatter <- All],
        [receive {pongs, Pongs} -> bench:check("pongs", Pongs, Size) end || _ <- All]
    end),
    [Chatter ! stop || Chatter <- All],
    Pings = lists:sum([receive {pings, N} -> N end || _ <- All]),
    bench:check("pings", Pings, ?CHATTERS * Size),
    {Seconds, 2 * ?CHATTERS * Size}.

chatter(Others, Size, Random, Main) ->
    chatter(Others, Size, ?NEXT(Random), Main, 0, 0).

chatter(Others, Left, Random, Main, Pings, Pongs) ->
    receive
        From when is_pid(From) ->
            From ! 1,
            chatter(Others, Left, Random, Main, Pings + 1, Pongs);
        N when is_integer(N), Left > 0 ->
            element(1 + ?BELOW(Random, ?CHATTERS - 1), Others) ! self(),
            chatter(Others, Left - 1, ?NEXT(Random), Main, Pings, Pongs + N);
        N when is_integer(N) ->
            Main ! {pongs, Pongs + N},
            chatter(Others, Left, Random, Main, Pings, Pongs + N);
        start ->
            element(1 + ?BELOW(Random, ?CHATTERS - 1), Others) ! self(),
            chatter(Others, Left - 1, ?NEXT(Random), Main, Pings, Pongs);
        stop ->
            Main ! {pings, Pings}
    end.

%% chameneos: [Colour | Creature] to the mall, which answers with the other's colour

chameneos(Size) ->
    Main = self(),
    Mall = spawn_opt(fun() -> mall(Size, Main) end, [{message_queue_data, off_heap}]),
    All = [spawn(fun() -> receive go -> visit(I rem 3, Mall, Main, 0) end end)
           || I <- lists:seq(1, ?CREATURES)],
    {Seconds, Meetings} = bench:time(fun() ->
        [Creature ! go || Creature <- All],
        lists:sum([receive {meetings, N} -> N end || _ <- All])
    end),
    receive {mall, All2} -> bench:check("meetings of the mall", All2, Size) end,
    bench:check("meetings of the creatures", Meetings, 2 * Size),
    {Seconds, Size}.

visit(Colour, Mall, Main, Meetings) ->
    Mall ! [Colour | self()],
    receive
        Other when is_integer(Other) ->
            visit(complement(Colour, Other), Mall, Main, Meetings + 1);
        stop ->
            Main ! {meetings, Meetings}
    end.

complement(Colour, Colour) -> Colour;
complement(Colour, Other) -> 3 - Colour - Other.

mall(Size, Main) ->
    Main ! {mall, pair(Size, 0)},
    [receive [_ | Creature] -> Creature ! stop end || _ <- lists:seq(1, ?CREATURES)].

pair(Size, Size) -> Size;
pair(Size, Meetings) ->
    receive
        [Colour1 | Creature1] ->
            receive
                [Colour2 | Creature2] ->
                    Creature1 ! Colour2,
                    Creature2 ! Colour1,
                    pair(Size, Meetings + 1)
            end
    end.
