// SPDX-License-Identifier: MIT

package main

import (
	"sync/atomic"
	"syscall"
	"time"
)

const timerBatch = 64

// Of the process, user and system.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail("%v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func (r *random) delay(leastMs, mostMs uint64) time.Duration {
	return time.Duration(leastMs+uint64(r.next())*(mostMs-leastMs+1)>>32) * time.Millisecond
}

// A function of AfterFunc runs when it is due, in a goroutine of its own. A goroutine that receives
// from the channels of a million timers needs less, but not when they are due.
func timerFire(size int) result {
	var fired int64
	last := make(chan bool)
	random := newRandom(0)
	begin := cpuSeconds()
	start := time.Now()
	count := func() {
		if atomic.AddInt64(&fired, 1) == int64(size) {
			last <- true
		}
	}
	longest := time.Duration(0)
	for i := 0; i < size; i++ {
		delay := random.delay(1, 1000)
		if delay > longest {
			longest = delay
		}
		time.AfterFunc(delay, count)
	}
	<-last
	seconds := cpuSeconds() - begin
	checkEqual("fired", atomic.LoadInt64(&fired), int64(size))
	checkEqual("the last one is early", time.Since(start) < longest, false)
	return result{seconds: seconds, ops: size}
}

// The timers are used again, which saves their allocation.
func timerCancel(size int) result {
	var fired int64
	var timers [timerBatch]*time.Timer
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour, func() { atomic.AddInt64(&fired, 1) })
		timers[i].Stop()
	}
	random := newRandom(0)
	cancelled := 0
	start := time.Now()
	for left := size; left > 0; left -= timerBatch {
		batch := timers[:]
		if left < timerBatch {
			batch = timers[:left]
		}
		for _, timer := range batch {
			timer.Reset(random.delay(1000, 60000))
		}
		for _, timer := range batch {
			if timer.Stop() {
				cancelled++
			}
		}
	}
	seconds := since(start)
	checkEqual("cancelled", cancelled, size)
	checkEqual("fired", atomic.LoadInt64(&fired), 0)
	return result{seconds: seconds, ops: size}
}
