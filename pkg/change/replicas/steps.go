package replicas

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Step is the size of one step in a change: a number of replicas, or a percentage of the whole change.
type Step struct {
	size    int64
	percent bool
}

// ParseStep parses a step such as 10 or 25%: a number of replicas, or a percentage from 1% to 100%.
func ParseStep(word string) (Step, error) {
	parts := regexp.MustCompile(`^([0-9]+)(%?)$`).FindStringSubmatch(word)
	if parts == nil {
		return Step{}, fmt.Errorf("%q is not a step such as 10 or 25%%", word)
	}
	s := Step{percent: parts[2] == "%"}
	most := int64(math.MaxInt32)
	if s.percent {
		most = 100
	}
	var err error
	if s.size, err = strconv.ParseInt(parts[1], 10, 64); err != nil || s.size < 1 || s.size > most {
		return Step{}, fmt.Errorf("%q is out of range: a step is from 1%s to %d%[2]s", word, parts[2], most)
	}
	return s, nil
}

// String formats the step so that ParseStep can parse it.
func (s Step) String() string {
	word := strconv.FormatInt(s.size, 10)
	if s.percent {
		word += "%"
	}
	return word
}

// of returns the number of replicas in one step of a change, at least one. A percentage is rounded up.
func (s Step) of(change int64) int64 {
	if s.percent {
		return max(1, (change*s.size+99)/100)
	}
	return s.size
}

const maxSteps = 1000

// Steps returns the count after each step from one count to another. The last step may be smaller than
// the other steps. If both counts are equal, the result is this count, because the pods must still become
// ready. More than maxSteps steps are an error, because anyone with access to /scale can set a huge count.
func Steps(from, to int32, step Step) ([]int32, error) {
	distance := max(int64(to)-int64(from), int64(from)-int64(to))
	size := step.of(distance)
	if n := (distance + size - 1) / size; n > maxSteps {
		return nil, fmt.Errorf("%w: from %d to %d takes %d steps: use a larger --step", outcome.ErrRefused, from, to, n)
	}
	direction := int64(cmp.Compare(to, from))
	var counts []int32
	for done := size; done < distance; done += size {
		counts = append(counts, int32(int64(from)+direction*done)) //nolint:gosec // between two 32-bit counts
	}
	return append(counts, to), nil
}
