// SPDX-License-Identifier: MIT

//go:build exp

package main

import "golang.org/x/exp/slices"

// The sort without interfaces, which later versions of Go have themselves.
func sortInts(numbers []int) { slices.Sort(numbers) }
