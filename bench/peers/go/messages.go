// SPDX-License-Identifier: MIT

package main

import "time"

const (
	ringActors   = 503
	fanProducers = 100
	bigActors    = 120
	forkActors   = 60
)

func pingpong(size int) result {
	pings, pongs := make(chan int64), make(chan int64)
	received := make(chan int)
	go func() {
		n := 0
		for v := range pings {
			n++
			pongs <- v
		}
		received <- n
	}()
	start := time.Now()
	got := 0
	for i := 0; i < size; i++ {
		pings <- int64(i)
		if <-pongs == int64(i) {
			got++
		}
	}
	seconds := since(start)
	close(pings)
	checkEqual("pings received", <-received, size)
	checkEqual("pongs received", got, size)
	return result{seconds: seconds, ops: 2 * size}
}

func ring(size int) result {
	var inbox [ringActors]chan int64
	for i := range inbox {
		inbox[i] = make(chan int64, 1)
	}
	done := make(chan int)
	counts := make(chan int)
	for i := range inbox {
		go func(in <-chan int64, out chan<- int64) {
			hops := 0
			for left := range in {
				if left == 0 {
					done <- 0
					continue
				}
				hops++
				out <- left - 1
			}
			counts <- hops
		}(inbox[i], inbox[(i+1)%ringActors])
	}
	start := time.Now()
	inbox[0] <- int64(size)
	<-done
	seconds := since(start)
	for i := range inbox {
		close(inbox[i])
		want := size / ringActors
		if i < size%ringActors {
			want++
		}
		checkEqual("hops of an actor", <-counts, want)
	}
	return result{seconds: seconds, ops: size}
}

func counting(size int) result {
	consumer := newMailbox()
	answer := make(chan int64)
	begin := make(chan bool)
	go func() {
		count, sum := 0, int64(0)
		for count < size {
			for _, v := range consumer.takeAll() {
				count++
				sum += v
			}
		}
		answer <- sum
	}()
	go func() {
		<-begin
		for i := 0; i < size; i++ {
			consumer.send(1)
		}
	}()
	start := time.Now()
	begin <- true
	sum := <-answer
	seconds := since(start)
	checkEqual("sum", sum, int64(size))
	return result{seconds: seconds, ops: size}
}

func fanin(size int) result {
	all := fanProducers * size
	consumer := newMailbox()
	answer := make(chan int64)
	begin := make(chan bool)
	go func() {
		count, sum := 0, int64(0)
		for count < all {
			for _, v := range consumer.takeAll() {
				count++
				sum += v
			}
		}
		answer <- sum
	}()
	for p := 0; p < fanProducers; p++ {
		go func() {
			<-begin
			for i := 0; i < size; i++ {
				consumer.send(1)
			}
		}()
	}
	start := time.Now()
	close(begin)
	sum := <-answer
	seconds := since(start)
	checkEqual("sum", sum, int64(all))
	return result{seconds: seconds, ops: all}
}

func forkjoin(size int) result {
	var inbox [forkActors]*mailbox
	answers := make(chan int64, forkActors)
	begin := make(chan bool)
	for i := range inbox {
		inbox[i] = newMailbox()
		go func(in *mailbox) {
			count, sum := 0, int64(0)
			for count < size {
				for _, v := range in.takeAll() {
					count++
					sum += v
				}
			}
			answers <- sum
		}(inbox[i])
	}
	go func() {
		<-begin
		for j := 0; j < size; j++ {
			for i := range inbox {
				inbox[i].send(1)
			}
		}
	}()
	start := time.Now()
	begin <- true
	var sums [forkActors]int64
	for i := range sums {
		sums[i] = <-answers
	}
	seconds := since(start)
	for i := range sums {
		checkEqual("sum of an actor", sums[i], int64(size))
	}
	return result{seconds: seconds, ops: forkActors * size}
}

// A message of big: the number of the actor that wants an answer, or an answer.
const bigPong = -1

func big(size int) result {
	// Others have one ping each here at most, and we have one answer.
	var inbox [bigActors]chan int64
	for i := range inbox {
		inbox[i] = make(chan int64, bigActors)
	}
	type counts struct{ pings, pongs int }
	ready := make(chan bool)
	done := make(chan bool, bigActors)
	answers := make(chan counts)
	for i := range inbox {
		go func(me int) {
			var n counts
			numbers := newRandom(me)
			ping := func() {
				other := int(numbers.next() % (bigActors - 1))
				if other >= me {
					other++
				}
				inbox[other] <- int64(me)
			}
			<-ready
			ping()
			for from := range inbox[me] {
				if from != bigPong {
					n.pings++
					inbox[from] <- bigPong
					continue
				}
				n.pongs++
				if n.pongs < size {
					ping()
				} else {
					done <- true
				}
			}
			answers <- n
		}(i)
	}
	start := time.Now()
	close(ready)
	for range inbox {
		<-done
	}
	seconds := since(start)
	var all counts
	for i := range inbox {
		close(inbox[i])
		n := <-answers
		checkEqual("pongs of an actor", n.pongs, size)
		all.pings += n.pings
		all.pongs += n.pongs
	}
	checkEqual("pings", all.pings, bigActors*size)
	checkEqual("pongs", all.pongs, bigActors*size)
	return result{seconds: seconds, ops: 2 * bigActors * size}
}
