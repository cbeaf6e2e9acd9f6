%% SPDX-License-Identifier: MIT
%% Rows about actors that fail or are watched.
-module(failures).
-behaviour(supervisor).
-compile(inline).
-export([restart/1, monitor/1]).
-export([init/1, start_victim/1, victim/1, once/0, watch/2]).

-define(AHEAD, 64).

%% restart: from the failure of a child to its successor. A supervisor remembers the restarts of a
%% second one by one, so there are many supervisors, each of which restarts now and then.

-define(SUPERVISORS, 1000).

restart(Size) ->
    logger:set_primary_config(level, none), %% nobody else in the race writes of it
    Main = self(),
    Driver = spawn(fun() ->
        Supervisors = [start_supervisor(self()) || _ <- lists:seq(1, ?SUPERVISORS)],
        Victims = queue:from_list([receive {up, Pid, _} -> Pid end || _ <- Supervisors]),
        Main ! {sum, drive(Size, Victims, 0)},
        [unlink(S) || S <- Supervisors]
    end),
    receive {sum, Ticks} -> ok end,
    exit(Driver, kill),
    {erlang:convert_time_unit(Ticks, native, nanosecond) / 1.0e9, Size}.

start_supervisor(Driver) ->
    {ok, Supervisor} = supervisor:start_link(?MODULE, Driver),
    Supervisor.

init(Driver) ->
    Child = #{id => victim, start => {?MODULE, start_victim, [Driver]}, shutdown => brutal_kill},
    {ok, {#{strategy => one_for_one, intensity => 1000000, period => 1}, [Child]}}.

start_victim(Driver) -> proc_lib:start_link(?MODULE, victim, [Driver]).

victim(Driver) ->
    Driver ! {up, self(), erlang:monotonic_time()},
    proc_lib:init_ack({ok, self()}),
    receive fail -> ok end,
    Driver ! {down, erlang:monotonic_time()},
    exit(failed).

drive(0, _, Sum) -> Sum;
drive(Left, Victims, Sum) ->
    {{value, Victim}, Others} = queue:out(Victims),
    Victim ! fail,
    receive {down, Down} -> ok end,
    receive {up, Next, Up} -> drive(Left - 1, queue:in(Next, Others), Sum + Up - Down) end.

%% monitor: an actor is spawned and watched, gets a message and ends

monitor(Size) ->
    Main = self(),
    Driver = spawn(fun() ->
        receive go -> watch(Size, 0) end,
        Main ! done
    end),
    {Seconds, _} = bench:time(fun() ->
        Driver ! go,
        receive done -> ok end
    end),
    {Seconds, Size}.

watch(0, 0) -> ok;
watch(Left, Alive) when Left > 0, Alive < ?AHEAD ->
    {Pid, _} = spawn_monitor(?MODULE, once, []),
    Pid ! 1,
    watch(Left - 1, Alive + 1);
watch(Left, Alive) ->
    receive {'DOWN', _, process, _, normal} -> watch(Left, Alive - 1) end.

once() -> receive 1 -> ok end.
