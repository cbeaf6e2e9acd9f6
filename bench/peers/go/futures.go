// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A channel for one value, which is another: the answer goes there.
type promise chan promise

func play(own promise, size int, done *sync.WaitGroup, received *int) {
	for i := 0; i < size; i++ {
		next := <-own
		*received++
		own = make(promise, 1)
		next <- own
	}
	done.Done()
}

func asyncAwait(size int) result {
	var done sync.WaitGroup
	var received [2]int
	ends := [2]promise{make(promise, 1), make(promise, 1)}
	done.Add(2)
	for i := range ends {
		go play(ends[i], size, &done, &received[i])
	}
	start := time.Now()
	ends[0] <- ends[1]
	done.Wait()
	seconds := since(start)
	checkEqual("promises", received[0], size)
	checkEqual("promises", received[1], size)
	return result{seconds: seconds, ops: 2 * size}
}

const joined = 1000

func asyncJoin(size int) result {
	sum := int64(0)
	var answers [joined]chan int64
	start := time.Now()
	for round := 0; round < size; round++ {
		for i := range answers {
			answer := make(chan int64, 1)
			answers[i] = answer
			number := int64(i)
			go func() { answer <- number }()
		}
		for _, answer := range answers {
			sum += <-answer
		}
	}
	seconds := since(start)
	checkEqual("sum", sum, int64(size)*joined*(joined-1)/2)
	return result{seconds: seconds, ops: joined * size}
}

func asyncSpawn(size int) result {
	var lives int64
	done := make(chan bool)
	live := func() {
		if atomic.AddInt64(&lives, 1) == int64(size) {
			done <- true
		}
	}
	start := time.Now()
	for i := 1; i <= size; i++ {
		go live()
		if i%createBatch == 0 {
			runtime.Gosched()
		}
	}
	<-done
	seconds := since(start)
	checkEqual("lives", lives, int64(size))
	return result{seconds: seconds, ops: size}
}
