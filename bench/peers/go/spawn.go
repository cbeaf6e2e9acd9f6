// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	createBatch = 64
	skyChildren = 10
	fibN        = 25
	fibResult   = 75025
)

// What an actor of create has: the memory goes to the next actor when it has ended.
type shortLife struct {
	inbox chan int64
	sum   int64
	run   func()
}

func create(size int) result {
	var ended sync.WaitGroup
	var lives [createBatch]shortLife
	for i := range lives {
		life := &lives[i]
		life.inbox = make(chan int64, 1)
		life.run = func() {
			life.sum += <-life.inbox
			ended.Done()
		}
	}
	start := time.Now()
	for left := size; left > 0; left -= createBatch {
		n := createBatch
		if left < n {
			n = left
		}
		ended.Add(n)
		for i := 0; i < n; i++ {
			go lives[i].run()
			lives[i].inbox <- 1
		}
		ended.Wait()
	}
	seconds := since(start)
	sum := int64(0)
	for i := range lives {
		sum += lives[i].sum
	}
	checkEqual("sum", sum, int64(size))
	return result{seconds: seconds, ops: size}
}

func skyNode(parent chan<- int64, number, size int64) {
	if size == 1 {
		parent <- number
		return
	}
	inbox := make(chan int64, skyChildren)
	share := size / skyChildren
	for i := int64(0); i < skyChildren; i++ {
		go skyNode(inbox, number+i*share, share)
	}
	runtime.Gosched() // with luck all answers are there then
	sum := int64(0)
	for i := 0; i < skyChildren; i++ {
		sum += <-inbox
	}
	parent <- sum
}

func skynet(size int) result {
	leaves := 1
	for leaves < size {
		leaves *= skyChildren
	}
	checkEqual("leaves", leaves, size)
	answer := make(chan int64)
	start := time.Now()
	go skyNode(answer, 0, int64(size))
	sum := <-answer
	seconds := since(start)
	checkEqual("sum", sum, int64(size)*int64(size-1)/2)
	return result{seconds: seconds, ops: (skyChildren*size - 1) / (skyChildren - 1)}
}

var fibPool = sync.Pool{New: func() any { return make(chan int64, 2) }}

func fibNode(parent chan<- int64, n int) {
	if n <= 2 {
		parent <- 1
		return
	}
	inbox := fibPool.Get().(chan int64)
	go fibNode(inbox, n-1)
	go fibNode(inbox, n-2)
	sum := <-inbox + <-inbox
	fibPool.Put(inbox)
	parent <- sum
}

func fib(size int) result {
	answer := make(chan int64)
	start := time.Now()
	for i := 0; i < size; i++ {
		go fibNode(answer, fibN)
		checkEqual("result", <-answer, fibResult)
	}
	return result{seconds: since(start), ops: (2*fibResult - 1) * size}
}

func resident() int64 {
	line, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail("%v", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(line))[1], 10, 64)
	if err != nil {
		fail("%v", err)
	}
	return pages * int64(os.Getpagesize())
}

func memory(size int) result {
	var sum int64
	last := make(chan bool)
	idle := func(inbox <-chan int64) {
		for v := range inbox {
			if atomic.AddInt64(&sum, v) == int64(size) {
				last <- true
			}
		}
	}
	others := runtime.NumGoroutine()
	debug.FreeOSMemory()
	before := resident()
	start := time.Now()
	for i := 0; i < size; i++ {
		inbox := make(chan int64)
		go idle(inbox)
		inbox <- 1
	}
	<-last
	seconds := since(start)
	debug.FreeOSMemory()
	amount := resident() - before
	checkEqual("messages handled", sum, int64(size))
	checkEqual("actors alive", runtime.NumGoroutine()-others, size)
	return result{seconds: seconds, ops: size, amount: float64(amount)}
}
