%% SPDX-License-Identifier: MIT
%% Rows that make actors.
-module(spawning).
-compile(inline).
-export([create/1, skynet/1, fib/1, memory/1]).
-export([once/1, sky/3, fib/2, idle/1, sleep/1]).

-define(AHEAD, 64).
-define(WAVE, 1000).
-define(SMALL_SKY, 100).
-define(SMALL_FIB, 14).

%% create: the actors add to a counter; who spawns looks at it so as not to be too far ahead

create(Size) ->
    Main = self(),
    Sum = counters:new(1, [write_concurrency]),
    Driver = spawn(fun() -> receive go -> create(0, Size, Sum), Main ! done end end),
    {Seconds, _} = bench:time(fun() ->
        Driver ! go,
        receive done -> ok end
    end),
    bench:check("sum", counters:get(Sum, 1), Size),
    {Seconds, Size}.

%% Spawns the next half of those that may live when the half before the last has ended.
create(Size, Size, Sum) ->
    await(Size, Sum);
create(Done, Size, Sum) ->
    Batch = min(?AHEAD div 2, Size - Done),
    spawn_batch(Batch, Sum),
    erlang:yield(),
    await(Done, Sum),
    create(Done + Batch, Size, Sum).

spawn_batch(0, _) -> ok;
spawn_batch(Left, Sum) -> spawn(?MODULE, once, [Sum]) ! 1, spawn_batch(Left - 1, Sum).

await(N, Sum) ->
    case counters:get(Sum, 1) of
        Got when Got < N -> erlang:yield(), await(N, Sum);
        _ -> ok
    end.

once(Sum) -> receive N -> counters:add(Sum, 1, N) end.

%% skynet, fib: the actors of small trees have a high priority, so that these are done before others
%% are begun. Fewer actors are alive then.

skynet(Size) ->
    Main = self(),
    {Seconds, Sum} = bench:time(fun() ->
        spawn(?MODULE, sky, [0, Size, Main]),
        receive N -> N end
    end),
    bench:check("sum", Sum, Size * (Size - 1) div 2),
    {Seconds, (10 * Size - 1) div 9}.

sky(Number, 1, Parent) ->
    Parent ! Number;
sky(Number, Size, Parent) ->
    grow(10, Number, Size div 10, self()),
    Parent ! add(10, 0).

grow(0, _, _, _) -> ok;
grow(Left, Number, Size, Self) ->
    spawn_tree(sky, [Number, Size, Self], Size =< ?SMALL_SKY),
    grow(Left - 1, Number + Size, Size, Self).

spawn_tree(Function, Arguments, false) ->
    spawn(?MODULE, Function, Arguments);
spawn_tree(Function, Arguments, true) ->
    spawn_opt(?MODULE, Function, Arguments, [{priority, high}]).

add(0, Sum) -> Sum;
add(Left, Sum) -> receive N -> add(Left - 1, Sum + N) end.

fib(Size) ->
    Main = self(),
    {Seconds, _} = bench:time(fun() ->
        [begin
             spawn(?MODULE, fib, [25, Main]),
             receive N -> bench:check("fib", N, 75025) end
         end || _ <- lists:seq(1, Size)]
    end),
    {Seconds, 150049 * Size}.

fib(N, Parent) when N =< 2 ->
    Parent ! 1;
fib(N, Parent) ->
    Self = self(),
    spawn_tree(fib, [N - 1, Self], N =< ?SMALL_FIB),
    spawn_tree(fib, [N - 2, Self], N =< ?SMALL_FIB),
    Parent ! add(2, 0).

%% memory: idle actors hibernate, which gives their heap back

memory(Size) ->
    Sum = counters:new(1, [write_concurrency]),
    Processes = erlang:system_info(process_count),
    erlang:garbage_collect(),
    Before = resident(),
    {Seconds, _} = bench:time(fun() -> make_idle(0, Size, Sum) end),
    After = resident(),
    bench:check("sum", counters:get(Sum, 1), Size),
    bench:check("actors", erlang:system_info(process_count) - Processes, Size),
    {Seconds, Size, After - Before}.

make_idle(Size, Size, Sum) ->
    await(Size, Sum);
make_idle(Done, Size, Sum) ->
    spawn(?MODULE, idle, [Sum]) ! 1,
    (Done + 1) rem ?WAVE =:= 0 andalso await(Done + 1, Sum),
    make_idle(Done + 1, Size, Sum).

idle(Sum) ->
    receive N -> counters:add(Sum, 1, N) end,
    erlang:hibernate(?MODULE, sleep, [Sum]).

sleep(Sum) -> idle(Sum).

resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    4096 * binary_to_integer(Pages).
