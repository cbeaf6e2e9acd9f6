%% SPDX-License-Identifier: MIT
%% What a request, or a process that was made ready, waits for where other processes compute.
-module(latency).
-compile(inline).
-export([hogs/3, server/1, waits/2]).

-include("bench.hrl").

-define(CONNECTIONS, 64).
-define(SERVER_US, 200).
-define(COMPUTES_US, 30000).
-define(FIRST_US, 8000).
-define(STEP_US, 3700).
-define(WARM_ROUNDS, 5).

%% ---- what a message or a request computes ----

%% Another generator than that of the other programs: its numbers need no memory here.
work(0, X) -> X;
work(Steps, X) -> work(Steps - 1, ?NEXT(X)).

%% A job of so much CPU time, and what comes out of it. There is no clock of a thread here, but that
%% of the process, in ms; nothing else runs as yet.
job(Us) ->
    Trial = 40000000,
    {Before, _} = statistics(runtime),
    work(Trial, ?SEED(1)),
    {After, _} = statistics(runtime),
    Steps = Us * Trial div ((After - Before) * 1000),
    {Steps, work(Steps, ?SEED(0))}.

do_job({Steps, Result}) ->
    bench:check("the result of a job", work(Steps, ?SEED(0)), Result).

%% ---- hogs beside an echo server ----

hog(Job, Begin) ->
    receive
        go ->
            Begin(),
            do_job(Job),
            self() ! go,
            hog(Job, Begin)
    end.

start_hog(Job, Begin) ->
    Pid = spawn(fun() -> hog(Job, Begin) end),
    Pid ! go.

hogs(Count, Us, Size) ->
    Job = job(Us),
    Turns = counters:new(max(Count, 1), [write_concurrency]),
    Start = erlang:monotonic_time(),
    [start_hog(Job, fun() -> counters:add(Turns, I, 1) end) || I <- lists:seq(1, Count)],
    net:serve("rate", ?CONNECTIONS, Size, fun echo/1,
              fun() -> io_lib:format("~.3f~n", [percent(Count, Us, Turns, Start)]) end).

percent(Count, Us, Turns, Start) ->
    Own = [counters:get(Turns, I) || I <- lists:seq(1, Count)],
    bench:check("hogs without a turn", [T || T <- Own, T =:= 0], []),
    lists:sum(Own) * Us * 100 / us_since(Start).

us_since(Start) ->
    erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond) / 1000.

%% Data comes as messages.
echo(Socket) ->
    ok = inet:setopts(Socket, [{active, true}]),
    echo_messages(Socket).

echo_messages(Socket) ->
    receive
        {tcp, Socket, Data} ->
            ok = gen_tcp:send(Socket, Data),
            echo_messages(Socket);
        {tcp_closed, Socket} ->
            ok
    end.

%% ---- a server that computes ----

server(Size) ->
    Job = job(?SERVER_US),
    net:serve("wall", ?CONNECTIONS, Size, fun(Socket) -> answer(Socket, Job) end, fun() -> [] end).

answer(Socket, Job) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} ->
            do_job(Job),
            ok = gen_tcp:send(Socket, Data),
            answer(Socket, Job);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

%% ---- processes that are made ready ----

%% There are no threads beside the schedulers: a process that has slept makes the other ready.
waits(IsOld, Size) ->
    Self = self(),
    start_hog(job(?COMPUTES_US), fun() -> Self ! begun end),
    Old = spawn(fun() -> look_forever(Self) end),
    {Seconds, Delays} = bench:time(fun() ->
        [delay(Round * ?STEP_US rem ?FIRST_US, IsOld, Self, Old) ||
            Round <- lists:seq(0, ?WARM_ROUNDS + Size - 1)]
    end),
    Sorted = lists:sort(lists:nthtail(?WARM_ROUNDS, Delays)),
    P90 = lists:nth(Size * 9 div 10 + 1, Sorted),
    Notes = io_lib:format("0 ~.1f ~.1f", [P90, lists:last(Sorted)]),
    {Seconds, Size, lists:nth(Size div 2 + 1, Sorted), Notes}.

look(Asker) -> Asker ! {ran, erlang:monotonic_time()}.

look_forever(Asker) ->
    receive go -> look(Asker) end,
    look_forever(Asker).

forget_turns() ->
    receive begun -> forget_turns() after 0 -> ok end.

%% Timers have milliseconds here.
delay(Us, IsOld, Self, Old) ->
    forget_turns(),
    receive begun -> ok end,
    timer:sleep(Us div 1000),
    Start = erlang:monotonic_time(),
    case IsOld of
        true -> Old ! go;
        false -> spawn(fun() -> look(Self) end)
    end,
    receive
        {ran, Ran} -> erlang:convert_time_unit(Ran - Start, native, nanosecond) / 1000
    end.
