%% SPDX-License-Identifier: MIT
%% Echo servers: a process per connection. The client prints the result, and the node ends with it.
-module(net).
-compile(inline).
-export([tcp_64/1, tcp_1000/1, udp_64/1, serve/5]).

-define(NOTHING, fun() -> [] end).

tcp_64(Size) -> serve("tcp", 64, Size, fun echo/1, ?NOTHING).

tcp_1000(Size) -> serve("tcp", 1000, Size, fun echo/1, ?NOTHING).

%% Connection(Socket) is the process of each. What Report returns is printed behind the result.
serve(Kind, Connections, Size, Connection, Report) ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {active, false}, {nodelay, true},
                                        {backlog, 1024}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    spawn(fun() -> run_client(Kind, Port, Connections, Size, Report) end),
    accept(Listener, Connection).

accept(Listener, Connection) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> Connection(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener, Connection).

echo(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} ->
            ok = gen_tcp:send(Socket, Data),
            echo(Socket);
        {error, _} ->
            gen_tcp:close(Socket)
    end.

udp_64(Size) ->
    {ok, Socket} = gen_udp:open(0, [binary, {active, false}, {recbuf, 1 bsl 20}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Socket),
    spawn(fun() -> run_client("udp", Port, 64, Size, ?NOTHING) end),
    echo_udp(Socket).

echo_udp(Socket) ->
    {ok, {Address, Port, Data}} = gen_udp:recv(Socket, 0),
    ok = gen_udp:send(Socket, Address, Port, Data),
    echo_udp(Socket).

run_client(Kind, Port, Connections, Size, Report) ->
    Arguments = [Kind, integer_to_list(Port), integer_to_list(Connections),
                 integer_to_list(Size), os:getpid()],
    await(open_port({spawn_executable, os:getenv("JZX_BENCH_CLIENT")},
                    [exit_status, binary, {args, Arguments}]), <<>>, Report).

await(Client, Said, Report) ->
    receive
        {Client, {data, More}} -> await(Client, <<Said/binary, More/binary>>, Report);
        {Client, {exit_status, Status}} ->
            io:put_chars([Said, Report()]),
            halt(Status, [{flush, true}])
    end.
