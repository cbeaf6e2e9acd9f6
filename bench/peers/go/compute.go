// SPDX-License-Identifier: MIT

package main

import "time"

const smallPart = 2048

// Moves what is less to the front and returns how many that are. Written so that the compiler
// needs no branch that depends on a number.
func gatherLess(a []int, than int) int {
	n := 0
	for i, number := range a {
		a[i] = a[n]
		a[n] = number
		step := 0
		if number < than {
			step = 1
		}
		n += step
	}
	return n
}

// Splits numbers in three: less than, equal to and more than the middle element. Returns where the
// second and the third begin. All numbers are below the largest int.
func split(a []int) (equal, more int) {
	pivot := a[len(a)/2]
	equal = gatherLess(a, pivot)
	return equal, equal + gatherLess(a[equal:], pivot+1)
}

// Tells the parent how many numbers are sorted.
func sortPart(part []int, parent chan<- int) {
	if len(part) <= smallPart {
		sortInts(part)
		parent <- len(part)
		return
	}
	equal, more := split(part)
	inbox := make(chan int, 2)
	go sortPart(part[:equal], inbox)
	go sortPart(part[more:], inbox)
	parent <- more - equal + <-inbox + <-inbox
}

func quicksort(size int) result {
	numbers := make([]int, size)
	source := newRandom(0)
	before := 0
	for i := range numbers {
		numbers[i] = int(source.next())
		before += numbers[i]
	}
	answer := make(chan int)
	start := time.Now()
	go sortPart(numbers, answer)
	sorted := <-answer
	seconds := since(start)
	checkEqual("numbers sorted", sorted, size)
	after := numbers[0]
	for i := 1; i < size; i++ {
		if numbers[i-1] > numbers[i] {
			fail("number %d is not in order", i)
		}
		after += numbers[i]
	}
	checkEqual("sum of the numbers", after, before)
	return result{seconds: seconds, ops: size}
}

const (
	queenWorkers = 20
	queenSplit   = 4 // boards with so many queens are not sent back
	queensMin    = 4
	queensMax    = 16
)

// Which columns and diagonals of the next row are taken.
type board struct {
	columns, left, right, queens uint16
}

func (b board) free(all uint16) uint16 { return all &^ (b.columns | b.left | b.right) }

func (b board) with(queen uint16) board {
	return board{b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1, b.queens + 1}
}

// A message to the master: a board, or that a worker is done with one.
type queenMessage struct {
	board     board
	done      bool
	solutions uint32
}

func countQueens(columns, left, right, all uint32) (solutions uint32) {
	if columns == all {
		return 1
	}
	for free := all &^ (columns | left | right); free != 0; free &= free - 1 {
		queen := free & -free
		solutions += countQueens(columns|queen, (left|queen)<<1, (right|queen)>>1, all)
	}
	return solutions
}

func nqueens(size int) result {
	known := [...]int{4: 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512}
	if size < queensMin || size > queensMax {
		fail("a board from %d to %d", queensMin, queensMax)
	}
	all := uint16(1<<size - 1)
	// Has room for all boards and answers there can be: no worker waits to send.
	master := make(chan queenMessage, 2*size*size*size*size)
	var inbox [queenWorkers]chan board
	for i := range inbox {
		inbox[i] = make(chan board, 256)
		go func(boards <-chan board) {
			for b := range boards {
				answer := queenMessage{done: true}
				if b.queens < queenSplit {
					for free := b.free(all); free != 0; free &= free - 1 {
						master <- queenMessage{board: b.with(free & -free)}
					}
				} else {
					answer.solutions = countQueens(uint32(b.columns), uint32(b.left),
						uint32(b.right), uint32(all))
				}
				master <- answer
			}
		}(inbox[i])
	}
	start := time.Now()
	solutions, open, next := 0, 1, 0
	inbox[next] <- board{}
	for open > 0 {
		m := <-master
		if m.done {
			solutions += int(m.solutions)
			open--
			continue
		}
		open++
		next = (next + 1) % queenWorkers
		inbox[next] <- m.board
	}
	seconds := since(start)
	checkEqual("solutions", solutions, known[size])
	return result{seconds: seconds, ops: solutions}
}

const sievePrimes = 1000 // that an actor keeps

// Numbers come from in; one that is not positive is the last, and minus the count of the primes
// before.
func sieveActor(in <-chan int32, answer chan<- int) {
	primes := make([]uint32, 0, sievePrimes)
	var next chan int32
candidates:
	for number := range in {
		if number <= 0 {
			count := int(-number) + len(primes)
			if next == nil {
				answer <- count
			} else {
				next <- int32(-count)
			}
			return
		}
		for _, prime := range primes {
			if uint32(number)%prime == 0 {
				continue candidates
			}
		}
		if len(primes) < sievePrimes {
			primes = append(primes, uint32(number))
			continue
		}
		if next == nil {
			next = make(chan int32, mailboxLength)
			go sieveActor(next, answer)
		}
		next <- number
	}
}

func countPrimes(limit int) int {
	composite := make([]bool, limit+1)
	count := 0
	for i := 2; i <= limit; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j <= limit; j += i {
			composite[j] = true
		}
	}
	return count
}

func sieve(size int) result {
	first := make(chan int32, mailboxLength)
	answer := make(chan int)
	begin := make(chan bool)
	go sieveActor(first, answer)
	go func() {
		<-begin
		for i := 3; i <= size; i += 2 {
			first <- int32(i)
		}
		first <- 0
	}()
	start := time.Now()
	begin <- true
	count := <-answer
	seconds := since(start)
	checkEqual("primes", 1+count, countPrimes(size)) // 2 is not sent
	return result{seconds: seconds, ops: size / 2}
}
