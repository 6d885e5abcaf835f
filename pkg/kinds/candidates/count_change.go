package candidates

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// CountChange is a relative change of a count: by a number, or by a percentage of the count.
type CountChange struct {
	by   int64
	unit string // "%" for a percentage, or ""
}

// ParseCountChange parses an amount to add, such as +2 or -1, or a percentage of at least -100%, such as -50%.
func ParseCountChange(word string) (CountChange, error) {
	parts := regexp.MustCompile(`^([+-]?[0-9]+)(%?)$`).FindStringSubmatch(word)
	if parts == nil {
		return CountChange{}, fmt.Errorf("%q is not a change such as +2, -1, 50%% or -50%%", word)
	}
	by, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return CountChange{}, fmt.Errorf("%q is out of range", word)
	}
	c := CountChange{by: by, unit: parts[2]}
	if c.unit == "%" && by < -100 {
		return CountChange{}, fmt.Errorf("%q is less than -100%%", word)
	}
	return c, nil
}

// From returns the count after the change. It rounds percentages away from zero, so that a nonzero percentage changes
// any nonzero count. It returns an error if the count or the result is negative or exceeds MaxInt32.
func (c CountChange) From(count int64) (int32, error) {
	if count < 0 || count > math.MaxInt32 {
		return 0, fmt.Errorf("the present count %d is not valid", count)
	}
	by := c.by
	if c.unit == "%" {
		by = (count*c.by + 99) / 100
		if c.by < 0 {
			by = (count*c.by - 99) / 100
		}
	}
	switch after := count + by; {
	case after < 0:
		return 0, fmt.Errorf("cannot scale by %s: %s", c, thereAre(count))
	case after > math.MaxInt32:
		return 0, fmt.Errorf("cannot scale by %s: with %d replicas, the result is more than %d", c, count, math.MaxInt32)
	default:
		return int32(after), nil
	}
}

func thereAre(count int64) string {
	switch count {
	case 0:
		return "there are no replicas"
	case 1:
		return "there is only 1 replica"
	}
	return fmt.Sprintf("there are only %d replicas", count)
}

// String formats the change with its sign, as ParseCountChange accepts it.
func (c CountChange) String() string { return fmt.Sprintf("%+d%s", c.by, c.unit) }
