%% SPDX-License-Identifier: MIT
%% Timers of one actor.
-module(timers).
-compile(inline).
-export([timer_fire/1, timer_cancel/1]).

-include("bench.hrl").

-define(BATCH, 64).

%% timer-fire: takes what has come after each batch, so that its mailbox and so its heap stay small

timer_fire(Size) ->
    Start = erlang:monotonic_time(millisecond),
    Before = cpu_seconds(),
    Longest = set_all(Size, 0, 0, ?SEED(0)),
    After = cpu_seconds(),
    Elapsed = erlang:monotonic_time(millisecond) - Start,
    bench:check("the last one is early", Elapsed < Longest, false),
    bench:check("more came", take(0), 0),
    {After - Before, Size}.

%% Returns the longest delay when all have come.
set_all(0, Pending, Longest, _) ->
    await(Pending),
    Longest;
set_all(Left, Pending, Longest, State) ->
    Batch = min(?BATCH, Left),
    {NewLongest, NewState} = set(Batch, Longest, State),
    set_all(Left - Batch, Pending + Batch - take(0), NewLongest, NewState).

set(0, Longest, State) ->
    {Longest, State};
set(Left, Longest, State) ->
    New = ?NEXT(State),
    Delay = 1 + ?BELOW(New, 1000),
    erlang:send_after(Delay, self(), due),
    set(Left - 1, max(Delay, Longest), New).

take(Taken) -> receive due -> take(Taken + 1) after 0 -> Taken end.

await(0) -> ok;
await(Pending) -> receive due -> await(Pending - 1) end.

%% Of the process, user and system.
cpu_seconds() ->
    {Milliseconds, _} = erlang:statistics(runtime),
    Milliseconds / 1000.

%% timer-cancel: a timer that was cancelled says how much of its time was left

timer_cancel(Size) ->
    {Seconds, _} = bench:time(fun() -> set_and_cancel(Size, ?SEED(0)) end),
    bench:check("came", take(0), 0),
    {Seconds, Size}.

set_and_cancel(0, _) -> ok;
set_and_cancel(Left, State) ->
    Batch = min(?BATCH, Left),
    set_and_cancel(Left - Batch, set_long(Batch, [], State)).

set_long(0, Timers, State) ->
    cancel(Timers),
    State;
set_long(Left, Timers, State) ->
    New = ?NEXT(State),
    Timer = erlang:send_after(1000 + ?BELOW(New, 59001), self(), due),
    set_long(Left - 1, [Timer | Timers], New).

cancel([]) -> ok;
cancel([Timer | Timers]) ->
    case erlang:cancel_timer(Timer) of
        false -> bench:fail("a timer was not cancelled", []);
        _ -> cancel(Timers)
    end.
