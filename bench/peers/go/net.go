// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
)

const echoBuffer = 4096

// Runs the client of the network rows, which prints the result, and ends with it. What report
// returns is printed behind it.
func runClient(kind string, address net.Addr, connections, size int, report func() string) {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		fail("%v", err)
	}
	client := exec.Command(os.Getenv("JZX_BENCH_CLIENT"), kind, port, strconv.Itoa(connections),
		strconv.Itoa(size), strconv.Itoa(os.Getpid()))
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	if err := client.Run(); err != nil {
		fail("the client: %v", err)
	}
	fmt.Println(report())
	os.Exit(0)
}

func nothing() string { return "" }

// Calls before with each piece that it has read, and sends it back.
func echoStream(connection net.Conn, before func()) {
	defer connection.Close()
	buffer := make([]byte, echoBuffer)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		before()
		if _, err := connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func serveTCP(kind string, connections, size int, before func(), report func() string) result {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("%v", err)
	}
	go runClient(kind, listener.Addr(), connections, size, report)
	for {
		connection, err := listener.Accept()
		if err != nil {
			fail("%v", err)
		}
		go echoStream(connection, before)
	}
}

func serveUDP(size int) result {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		fail("%v", err)
	}
	go runClient("udp", socket.LocalAddr(), 64, size, nothing)
	buffer := make([]byte, echoBuffer)
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			fail("%v", err)
		}
		if _, err := socket.WriteToUDPAddrPort(buffer[:n], from); err != nil {
			fail("%v", err)
		}
	}
}

func tcp64(size int) result   { return serveTCP("tcp", 64, size, func() {}, nothing) }
func tcp1000(size int) result { return serveTCP("tcp", 1000, size, func() {}, nothing) }
func udp64(size int) result   { return serveUDP(size) }
