package replicas

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// ParseStep parses the size of one step, such as 10 or 25%: a number of replicas, or a percentage of the whole change.
func ParseStep(word string) (intstr.IntOrString, error) {
	parts := regexp.MustCompile(`^([0-9]+)(%?)$`).FindStringSubmatch(word)
	if parts == nil {
		return intstr.IntOrString{}, fmt.Errorf("%q is not a step such as 10 or 25%%", word)
	}
	most := int64(math.MaxInt32)
	if parts[2] == "%" {
		most = 100
	}
	if size, err := strconv.ParseInt(parts[1], 10, 64); err != nil || size < 1 || size > most {
		return intstr.IntOrString{}, fmt.Errorf("%q is out of range: a step is from 1%s to %d%[2]s", word, parts[2], most)
	}
	return intstr.Parse(strings.TrimLeft(word, "0")), nil
}

const maxSteps = 1000

// Steps returns the count after each step from one count to another. The last step may be smaller than
// the other steps. If both counts are equal, the result is this count, because the pods must still become
// ready. More than maxSteps steps are an error, because anyone with access to /scale can set a huge count.
func Steps(from, to int32, step intstr.IntOrString) ([]int32, error) {
	distance := max(int64(to)-int64(from), int64(from)-int64(to))
	scaled, _ := intstr.GetScaledValueFromIntOrPercent(&step, int(distance), true) // ParseStep returns no invalid step
	size := max(1, int64(scaled))
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
