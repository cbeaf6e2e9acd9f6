// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	latencySeed        = 0x9E3779B97F4A7C15
	latencyConnections = 64
	serverMicroseconds = 200
	computingMicros    = 30000
	firstMicros        = 8000
	stepMicros         = 3700
	latencyWarmRounds  = 5
)

// What a message or a request computes, and what comes out of it.
type job struct {
	steps  int
	result uint64
}

// The CPU time of this thread.
func threadCPU() time.Duration {
	const clockThreadCPUTime = 3
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime,
		uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		fail("clock_gettime: %v", errno)
	}
	return time.Duration(t.Nano())
}

// A job of so much CPU time: the least of several short runs is what its steps take.
func newJob(microseconds int) job {
	const steps = 1 << 20
	least := time.Duration(1<<63 - 1)
	runtime.LockOSThread()
	for i := 0; i < 16; i++ {
		start := threadCPU()
		keep(work(uint64(i), steps))
		if took := threadCPU() - start; took < least {
			least = took
		}
	}
	runtime.UnlockOSThread()
	j := job{steps: int(int64(microseconds) * 1000 * steps / int64(least))}
	j.result = work(latencySeed, j.steps)
	return j
}

func (j job) do() { checkEqual("the result of a job", work(latencySeed, j.steps), j.result) }

func (j job) doForever(begin func()) {
	for {
		begin()
		j.do()
		runtime.Gosched()
	}
}

func hogs(count, microseconds, size int) result {
	turns := make([]uint64, count)
	j := newJob(microseconds)
	start := time.Now()
	for i := range turns {
		own := &turns[i]
		go j.doForever(func() { atomic.AddUint64(own, 1) })
	}
	return serveTCP("rate", latencyConnections, size, func() {}, func() string {
		all := uint64(0)
		for i := range turns {
			own := atomic.LoadUint64(&turns[i])
			if own == 0 {
				fail("a hog had no turn")
			}
			all += own
		}
		return fmt.Sprintf("%.3f", float64(all)*float64(microseconds)*1e-6/since(start)*100)
	})
}

func computingServer(size int) result {
	return serveTCP("wall", latencyConnections, size, newJob(serverMicroseconds).do, nothing)
}

// There are no threads beside the scheduler's: a goroutine that has slept makes the other ready.
func waits(isOld bool, size int) result {
	ran := make(chan time.Time)
	begun := make(chan bool)
	wake := make(chan bool)
	delays := make([]float64, size)
	go newJob(computingMicros).doForever(func() {
		select {
		case begun <- true: // it is waited for
		default:
		}
	})
	if isOld {
		go func() {
			for range wake {
				ran <- time.Now()
			}
		}()
	}
	begin := time.Now()
	for i := -latencyWarmRounds; i < size; i++ {
		<-begun
		time.Sleep(time.Duration((latencyWarmRounds+i)*stepMicros%firstMicros) * time.Microsecond)
		start := time.Now()
		if isOld {
			wake <- true
		} else {
			go func() { ran <- time.Now() }()
		}
		if delay := (<-ran).Sub(start); i >= 0 {
			delays[i] = float64(delay.Nanoseconds()) * 1e-3
		}
	}
	seconds := since(begin)
	sort.Float64s(delays)
	return result{seconds: seconds, ops: size, amount: delays[size/2],
		notes: fmt.Sprintf("0 %.1f %.1f", delays[size*9/10], delays[size-1])}
}
