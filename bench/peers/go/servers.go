// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"time"
)

const creatures = 100

const (
	meet = iota
	change
	exit
	faded
)

type encounter struct {
	kind, colour uint8
	from         uint16
	meetings     uint32 // with faded
}

func complement(mine, other uint8) uint8 {
	if mine == other {
		return mine
	}
	return 3 - mine - other
}

func chameneos(size int) result {
	// A creature has one message at the mall at most, and gets one at a time: nobody waits to
	// send.
	mall := make(chan encounter, creatures)
	var inbox [creatures]chan encounter
	for i := range inbox {
		inbox[i] = make(chan encounter, 1)
	}
	begin := make(chan bool)
	for i := range inbox {
		go func(me uint16, colour uint8) {
			meetings := uint32(0)
			<-begin
			mall <- encounter{kind: meet, colour: colour, from: me}
			for m := range inbox[me] {
				switch m.kind {
				case meet:
					colour = complement(colour, m.colour)
					meetings++
					inbox[m.from] <- encounter{kind: change, colour: colour}
				case change:
					colour = m.colour
					meetings++
				case exit:
					mall <- encounter{kind: faded, meetings: meetings}
					return
				}
				mall <- encounter{kind: meet, colour: colour, from: me}
			}
		}(uint16(i), uint8(i%3))
	}
	answer := make(chan [2]int)
	go func() {
		left, alive, meetings, reported := size, creatures, 0, 0
		waiting := -1
		for alive > 0 {
			m := <-mall
			if m.kind == faded {
				reported += int(m.meetings)
				alive--
			} else if left == 0 {
				inbox[m.from] <- encounter{kind: exit}
			} else if waiting < 0 {
				waiting = int(m.from)
			} else {
				left--
				meetings++
				inbox[waiting] <- m
				waiting = -1
			}
		}
		answer <- [2]int{meetings, reported}
	}()
	start := time.Now()
	close(begin)
	got := <-answer
	seconds := since(start)
	checkEqual("meetings at the mall", got[0], size)
	checkEqual("meetings of the creatures", got[1], 2*size)
	return result{seconds: seconds, ops: size}
}

const table = 20 // philosophers, and forks

// A message to the arbiter: the number of the philosopher, and whether it gives its forks back.
type forkMessage struct {
	from     int32
	giveBack bool
}

func philosophers(size int) result {
	// A philosopher has two messages at the arbiter at most.
	arbiter := make(chan forkMessage, 2*table)
	var inbox [table]chan bool // granted or not
	for i := range inbox {
		inbox[i] = make(chan bool, 1)
	}
	begin := make(chan bool)
	answers := make(chan int)
	// Only who has been granted a fork writes here.
	var eating [table]bool
	for i := range inbox {
		go func(me int32) {
			right := (me + 1) % table
			meals := 0
			<-begin
			for meals < size {
				arbiter <- forkMessage{from: me}
				for !<-inbox[me] {
					runtime.Gosched() // so that others give back
					arbiter <- forkMessage{from: me}
				}
				if eating[me] || eating[right] {
					fail("a fork is used twice")
				}
				eating[me], eating[right] = true, true
				meals++
				eating[me], eating[right] = false, false
				arbiter <- forkMessage{from: me, giveBack: true}
			}
			answers <- meals
		}(int32(i))
	}
	served := make(chan int)
	go func() {
		var used [table]bool
		returned := 0
		for m := range arbiter {
			left, right := m.from, (m.from+1)%table
			if m.giveBack {
				if !used[left] || !used[right] {
					fail("a fork comes back that nobody had")
				}
				used[left], used[right] = false, false
				returned++
				continue
			}
			granted := !used[left] && !used[right]
			if granted {
				used[left], used[right] = true, true
			}
			inbox[m.from] <- granted
		}
		served <- returned
	}()
	start := time.Now()
	close(begin)
	meals := 0
	for range inbox {
		meals += <-answers
	}
	seconds := since(start)
	close(arbiter)
	checkEqual("meals", meals, table*size)
	checkEqual("forks given back", <-served, table*size)
	return result{seconds: seconds, ops: table * size}
}

const (
	producers  = 40
	consumers  = 40
	bufferSize = 50
	itemWork   = 25
	noProducer = -1
)

// A message to the manager: an item of a producer, or a consumer that is ready.
type bufferMessage struct {
	producer, consumer int32
	item               uint64
}

type itemCount struct {
	items int
	sum   uint64
}

func (n *itemCount) add(item uint64) {
	n.items++
	n.sum += item
}

func buffer(size int) result {
	all := producers * size
	manager := make(chan bufferMessage, producers+consumers)
	produced := make(chan itemCount, producers)
	consumed := make(chan itemCount, consumers)
	var asks [producers]chan int64
	var gives [consumers]chan uint64
	begin := make(chan bool)
	for i := range asks {
		asks[i] = make(chan int64, 1)
		go func(me int32) {
			var n itemCount
			item := uint64(me)
			for range asks[me] {
				item = work(item, itemWork)
				n.add(item)
				manager <- bufferMessage{producer: me, item: item}
			}
			produced <- n
		}(int32(i))
	}
	for i := range gives {
		gives[i] = make(chan uint64, 1)
		go func(me int32) {
			var n itemCount
			x := uint64(0)
			<-begin
			manager <- bufferMessage{producer: noProducer, consumer: me}
			for item := range gives[me] {
				n.add(item)
				x ^= work(item, itemWork)
				manager <- bufferMessage{producer: noProducer, consumer: me}
			}
			keep(x)
			consumed <- n
		}(int32(i))
	}
	go func() {
		var items [bufferSize]uint64 // a ring
		first, count, asked := 0, 0, 0
		var left [producers]int
		idle := make([]int32, 0, producers)
		ready := make([]int32, 0, consumers)
		for i := range left {
			left[i] = size
			idle = append(idle, int32(i))
		}
		<-begin
		for given := 0; given < all || len(ready) < consumers; {
			for len(idle) > 0 && count+asked < bufferSize {
				p := idle[len(idle)-1]
				idle = idle[:len(idle)-1]
				left[p]--
				asked++
				asks[p] <- 1
			}
			m := <-manager
			if m.producer == noProducer {
				ready = append(ready, m.consumer)
			} else {
				asked--
				items[(first+count)%bufferSize] = m.item
				count++
				if left[m.producer] > 0 {
					idle = append(idle, m.producer)
				}
			}
			for count > 0 && len(ready) > 0 {
				c := ready[len(ready)-1]
				ready = ready[:len(ready)-1]
				gives[c] <- items[first]
				first = (first + 1) % bufferSize
				count--
				given++
			}
		}
		for i := range asks {
			close(asks[i])
		}
		for i := range gives {
			close(gives[i])
		}
	}()
	start := time.Now()
	close(begin)
	var in, out itemCount
	for range asks {
		n := <-produced
		checkEqual("items of a producer", n.items, size)
		in.items += n.items
		in.sum += n.sum
	}
	for range gives {
		n := <-consumed
		out.items += n.items
		out.sum += n.sum
	}
	seconds := since(start)
	checkEqual("items", out.items, all)
	checkEqual("sum of the items", out.sum, in.sum)
	return result{seconds: seconds, ops: all}
}

const (
	dictionaryKeys    = 65536
	dictionaryClients = 20
)

type dictionaryRequest struct {
	key, value uint32
	from       uint32
	write      bool
}

func dictionary(size int) result {
	requests := make(chan dictionaryRequest, dictionaryClients)
	var inbox [dictionaryClients]chan int64
	for i := range inbox {
		inbox[i] = make(chan int64, 1)
	}
	begin := make(chan bool)
	answers := make(chan int)
	for i := range inbox {
		go func(me int) {
			numbers := newRandom(me)
			good := 0
			<-begin
			for j := 0; j < size; j++ {
				r := numbers.next()
				key := r % dictionaryKeys
				write := (r>>16)%10 == 0
				requests <- dictionaryRequest{key, key, uint32(me), write}
				if <-inbox[me] == int64(key) {
					good++
				}
			}
			answers <- good
		}(i)
	}
	values := make(map[uint32]uint32, dictionaryKeys)
	for i := uint32(0); i < dictionaryKeys; i++ {
		values[i] = i
	}
	served := make(chan int)
	go func() {
		n := 0
		for r := range requests {
			answer := int64(-1)
			if r.write {
				values[r.key] = r.value
				answer = int64(r.value)
			} else if value, found := values[r.key]; found {
				answer = int64(value)
			}
			n++
			inbox[r.from] <- answer
		}
		served <- n
	}()
	start := time.Now()
	close(begin)
	good := 0
	for range inbox {
		good += <-answers
	}
	seconds := since(start)
	close(requests)
	checkEqual("right answers", good, dictionaryClients*size)
	checkEqual("requests", <-served, dictionaryClients*size)
	return result{seconds: seconds, ops: dictionaryClients * size}
}

const (
	rooms       = 32
	roomMembers = 8
	chatClients = rooms * roomMembers
	turnWork    = 1000
)

func chat(size int) result {
	var roomInbox [rooms]chan int64
	var inbox [chatClients]chan int64
	for i := range roomInbox {
		roomInbox[i] = make(chan int64, roomMembers) // one post of each
	}
	for i := range inbox {
		inbox[i] = make(chan int64, 4*roomMembers)
	}
	begin := make(chan bool)
	answers := make(chan int, chatClients)
	for i := range roomInbox {
		go func(posts <-chan int64, members []chan int64) {
			for post := range posts {
				for _, member := range members {
					member <- post
				}
			}
		}(roomInbox[i], inbox[i*roomMembers:(i+1)*roomMembers])
	}
	for i := range inbox {
		go func(me int64, posts <-chan int64, room chan<- int64) {
			numbers := newRandom(int(me))
			x := uint64(me)
			turns, deliveries := 0, 0
			turn := func() {
				turns++
				if numbers.next()%10 == 0 {
					x = work(x, turnWork)
				}
				room <- me
			}
			<-begin
			turn()
			for deliveries < roomMembers*size {
				from := <-posts
				deliveries++
				if from == me && turns < size {
					turn()
				}
			}
			keep(x)
			answers <- deliveries
		}(int64(i), inbox[i], roomInbox[i/roomMembers])
	}
	start := time.Now()
	close(begin)
	deliveries := 0
	for range inbox {
		deliveries += <-answers
	}
	seconds := since(start)
	checkEqual("deliveries", deliveries, chatClients*roomMembers*size)
	return result{seconds: seconds, ops: chatClients * size * (1 + roomMembers)}
}
