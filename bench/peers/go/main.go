// SPDX-License-Identifier: MIT

// The rows in Go: a goroutine with its channel is an actor. GOMAXPROCS is the number of workers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
)

// What programs that have the memory set: a collection when the heap is five times what it was.
const gcPercent = 400

type result struct {
	seconds float64
	ops     int
	amount  float64
	notes   string
}

var rows = map[string]func(size int) result{
	"pingpong":     pingpong,
	"ring":         ring,
	"counting":     counting,
	"fanin":        fanin,
	"big":          big,
	"create":       create,
	"forkjoin":     forkjoin,
	"skynet":       skynet,
	"fib":          fib,
	"chameneos":    chameneos,
	"memory":       memory,
	"philosophers": philosophers,
	"buffer":       buffer,
	"dictionary":   dictionary,
	"quicksort":    quicksort,
	"nqueens":      nqueens,
	"sieve":        sieve,
	"chat":         chat,
	"timer-fire":   timerFire,
	"timer-cancel": timerCancel,
	"async-await":  asyncAwait,
	"async-join":   asyncJoin,
	"async-spawn":  asyncSpawn,

	"sync-mutex":     syncMutex,
	"sync-semaphore": syncSemaphore,
	"sync-channel":   syncChannel,
	"sync-fanin":     syncFanin,
	"sync-broadcast": syncBroadcast,
	"tcp-64":         tcp64,
	"tcp-1000":       tcp1000,
	"udp-64":         udp64,

	"latency-none":   func(size int) result { return hogs(0, 1, size) },
	"latency-1x5ms":  func(size int) result { return hogs(1, 5000, size) },
	"latency-1x50ms": func(size int) result { return hogs(1, 50000, size) },
	"latency-4x5ms":  func(size int) result { return hogs(4, 5000, size) },
	"latency-server": computingServer,
	"latency-fresh":  func(size int) result { return waits(false, size) },
	"latency-old":    func(size int) result { return waits(true, size) },
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "go: "+format+"\n", args...)
	os.Exit(1)
}

func checkEqual[T comparable](what string, got, want T) {
	if got != want {
		fail("%s: %v instead of %v", what, got, want)
	}
}

func since(start time.Time) float64 { return time.Since(start).Seconds() }

// A xorshift generator.
type random uint64

func newRandom(i int) random { return random(88172645463325252 + i*7919) }

func (r *random) next() uint32 {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return uint32(*r >> 32)
}

func work(x uint64, n int) uint64 {
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var kept uint64

// Uses a result of work.
func keep(x uint64) { atomic.AddUint64(&kept, x) }

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "use: prog ROW SIZE WORKERS")
		os.Exit(2)
	}
	row := rows[os.Args[1]]
	if row == nil {
		os.Exit(3)
	}
	size, errSize := strconv.Atoi(os.Args[2])
	workers, errWorkers := strconv.Atoi(os.Args[3])
	if errSize != nil || errWorkers != nil || size < 1 || workers < 1 {
		fmt.Fprintln(os.Stderr, "SIZE and WORKERS are numbers from 1")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(workers)
	debug.SetGCPercent(gcPercent)
	r := row(size)
	fmt.Printf("%.9f %d %.1f %s\n", r.seconds, r.ops, r.amount, r.notes)
}
