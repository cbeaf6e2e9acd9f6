%% SPDX-License-Identifier: MIT
%% Erlang/OTP in the race: main(["ROW", "SIZE", "WORKERS"]) runs a row and ends the node.
-module(bench).
-export([main/1, log/2, check/3, fail/2, time/1]).

main([Row, Size | _]) ->
    case lists:keyfind(Row, 1, rows()) of
        {Row, Run} ->
            [{module, M} = code:ensure_loaded(M) ||
                M <- [messages, spawning, programs, timers, failures, net, latency, lists]],
            ok = logger:add_handler(bench, ?MODULE, #{}),
            ok = logger:remove_handler(default),
            spawn(fun() ->
                report(Run(list_to_integer(Size))),
                halt(0, [{flush, true}])
            end),
            receive after infinity -> ok end;
        false ->
            halt(3)
    end.

%% The log gets a line when an actor crashes: then the row has failed.
log(#{level := error, msg := Message}, _) -> fail("~p", [Message]);
log(_, _) -> ok.

rows() ->
    [{"pingpong", fun messages:pingpong/1},
     {"ring", fun messages:ring/1},
     {"counting", fun messages:counting/1},
     {"fanin", fun messages:fanin/1},
     {"big", fun messages:big/1},
     {"forkjoin", fun messages:forkjoin/1},
     {"chameneos", fun messages:chameneos/1},
     {"create", fun spawning:create/1},
     {"skynet", fun spawning:skynet/1},
     {"fib", fun spawning:fib/1},
     {"memory", fun spawning:memory/1},
     {"philosophers", fun programs:philosophers/1},
     {"buffer", fun programs:buffer/1},
     {"dictionary", fun programs:dictionary/1},
     {"quicksort", fun programs:quicksort/1},
     {"nqueens", fun programs:nqueens/1},
     {"sieve", fun programs:sieve/1},
     {"chat", fun programs:chat/1},
     {"restart", fun failures:restart/1},
     {"monitor", fun failures:monitor/1},
     {"timer-fire", fun timers:timer_fire/1},
     {"timer-cancel", fun timers:timer_cancel/1},
     {"tcp-64", fun net:tcp_64/1},
     {"tcp-1000", fun net:tcp_1000/1},
     {"udp-64", fun net:udp_64/1},
     {"latency-none", fun(Size) -> latency:hogs(0, 1, Size) end},
     {"latency-1x5ms", fun(Size) -> latency:hogs(1, 5000, Size) end},
     {"latency-1x50ms", fun(Size) -> latency:hogs(1, 50000, Size) end},
     {"latency-4x5ms", fun(Size) -> latency:hogs(4, 5000, Size) end},
     {"latency-server", fun latency:server/1},
     {"latency-fresh", fun(Size) -> latency:waits(false, Size) end},
     {"latency-old", fun(Size) -> latency:waits(true, Size) end}].

report({Seconds, Operations}) ->
    report({Seconds, Operations, 0});
report({Seconds, Operations, Amount}) ->
    report({Seconds, Operations, Amount, ""});
report({Seconds, Operations, Amount, Notes}) ->
    io:format("~.9f ~w ~w ~s~n", [Seconds, Operations, Amount, Notes]).

%% Runs Fun. Returns the seconds that it took and its result.
time(Fun) ->
    Start = erlang:monotonic_time(),
    Result = Fun(),
    Ticks = erlang:monotonic_time() - Start,
    {erlang:convert_time_unit(Ticks, native, nanosecond) / 1.0e9, Result}.

check(_What, Value, Value) -> ok;
check(What, Value, Expected) -> fail("~s: ~p instead of ~p", [What, Value, Expected]).

fail(Format, Arguments) ->
    io:format(standard_error, Format ++ "~n", Arguments),
    halt(1, [{flush, true}]).
