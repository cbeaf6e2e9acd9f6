// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"time"
)

const (
	syncCapacity = 64
	syncReaders  = 8
)

// A goroutine with a lock of its own for each worker.
func eachWorker(size int, lock func(count int) int) result {
	var done sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	each := size / workers
	counts := make([]int, workers*8) // a cache line apart
	done.Add(workers)
	start := time.Now()
	for i := 0; i < workers; i++ {
		count := &counts[i*8]
		go func() {
			*count = lock(each)
			done.Done()
		}()
	}
	done.Wait()
	seconds := since(start)
	for i := 0; i < workers; i++ {
		checkEqual("locks", counts[i*8], each)
	}
	return result{seconds: seconds, ops: each * workers}
}

func syncMutex(size int) result {
	return eachWorker(size, func(count int) int {
		var mutex sync.Mutex
		locks := 0
		for i := 0; i < count; i++ {
			mutex.Lock()
			locks++
			mutex.Unlock()
		}
		return locks
	})
}

// The idiom of the language: a channel with a place for each permit.
func syncSemaphore(size int) result {
	return eachWorker(size, func(count int) int {
		permits := make(chan struct{}, 4)
		taken := 0
		for i := 0; i < count; i++ {
			permits <- struct{}{}
			taken++
			<-permits
		}
		return taken
	})
}

func throughChannel(senders, size int) result {
	each := size / senders
	values := make(chan uint64, syncCapacity)
	sum := make(chan uint64)
	start := time.Now()
	go func() {
		total := uint64(0)
		for i := 0; i < each*senders; i++ {
			total += <-values
		}
		sum <- total
	}()
	for i := 0; i < senders; i++ {
		go func() {
			for i := 0; i < each; i++ {
				values <- uint64(i)
			}
		}()
	}
	total := <-sum
	seconds := since(start)
	checkEqual("sum", total, uint64(each)*uint64(each-1)/2*uint64(senders))
	return result{seconds: seconds, ops: each * senders}
}

func syncChannel(size int) result { return throughChannel(1, size) }
func syncFanin(size int) result   { return throughChannel(4, size) }

// There is no broadcast in the language: each reader has a channel.
func syncBroadcast(size int) result {
	each := size / syncReaders / syncCapacity * syncCapacity
	sums := make(chan uint64, syncReaders)
	var readers [syncReaders]chan uint64
	for i := range readers {
		values := make(chan uint64, syncCapacity)
		readers[i] = values
		go func() {
			total := uint64(0)
			for i := 0; i < each; i++ {
				total += <-values
			}
			sums <- total
		}()
	}
	start := time.Now()
	for i := 0; i < each; i++ {
		for _, values := range readers {
			values <- uint64(i)
		}
	}
	total := uint64(0)
	for range readers {
		total += <-sums
	}
	seconds := since(start)
	checkEqual("sum", total, uint64(each)*uint64(each-1)/2*syncReaders)
	return result{seconds: seconds, ops: each * syncReaders}
}
