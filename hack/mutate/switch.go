package main

// switchSource is the source of a file that enables one mutant in its package. It imports few packages,
// to avoid import cycles.
const switchSource = `
import (
	"os"
	"strconv"
	"sync"
)

var (
	mutantSelected, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantsReached    = os.Getenv("MUTANTS_REACHED")
	mutantSeen        sync.Map
)

func mutated(id int) bool {
	if mutantsReached != "" {
		if _, seen := mutantSeen.LoadOrStore(id, true); !seen {
			file, err := os.OpenFile(mutantsReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			if _, err := file.WriteString(strconv.Itoa(id) + "\n"); err != nil {
				panic(err)
			}
			_ = file.Close()
		}
	}
	return mutantSelected == id
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

type mutantOrdered interface{ mutantNumber | ~string }

func mutantLess[T mutantOrdered](id int, a, b T) bool           { return mutated(id) && a == b || a < b }
func mutantLessOrEqual[T mutantOrdered](id int, a, b T) bool    { return !mutated(id) && a == b || a < b }
func mutantGreater[T mutantOrdered](id int, a, b T) bool        { return mutated(id) && a == b || a > b }
func mutantGreaterOrEqual[T mutantOrdered](id int, a, b T) bool { return !mutated(id) && a == b || a > b }

func mutantAnd(id int, a bool, b func() bool) bool {
	if mutated(id) {
		return a || b()
	}
	return a && b()
}

func mutantOr(id int, a bool, b func() bool) bool {
	if mutated(id) {
		return a && b()
	}
	return a || b()
}

func mutantArithmetic[T mutantNumber](id int, op, other byte, a, b T) T {
	if mutated(id) {
		op = other
	}
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	}
	return a / b
}

func mutantRemainder[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](id int, _, _ byte, a, b T) T {
	if mutated(id) {
		return a * b
	}
	return a % b
}

func mutantNegative[T mutantNumber](id int, a T) T {
	if mutated(id) {
		return a
	}
	return -a
}
`
