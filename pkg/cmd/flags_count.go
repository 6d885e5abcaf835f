package cmd

import (
	"fmt"
	"math"
	"strconv"
)

// count is a flag's number of replicas: of 32 bits, and no less than least.
type count struct {
	value *int32
	least int32
}

func (c count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < int64(c.least) {
		return fmt.Errorf("must be a whole number from %d to %d", c.least, math.MaxInt32)
	}
	*c.value = int32(n)
	return nil
}

func (c count) String() string { return strconv.FormatInt(int64(*c.value), 10) }

func (c count) Type() string { return "int32" }
