// SPDX-License-Identifier: MIT

//go:build !exp

package main

import "sort"

func sortInts(numbers []int) { sort.Ints(numbers) }
