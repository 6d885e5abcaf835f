package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMutate checks that each change is made separately, and that tests of another package can detect a change.
func TestMutate(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod": "module example.com/it\n\ngo 1.26\n",
		"it/it.go": `package it

const day = 24 * 60

func Sum(numbers []int, most int) (sum int) {
	for i := 0; i < len(numbers); i++ {
		if numbers[i] < 0 && // not these
			most != 0 {
			continue
		}
		sum += numbers[i]
	}
	switch {
	case sum > most:
		return most
	}
	return sum
}

func Name(n int) string {
	if n == 1 || n == -1 {
		return "pod"
	}
	return "pod" + "s"
}

func First(numbers []int) int {
	for i := 0; ; i++ {
		if numbers[i] == 0 {
			continue
		}
		return numbers[i]
	}
}

func TestedElsewhere(n int) int { return -n*2 }

func Untested(n int) int { return n*3 }
`,
		"it/it_test.go": `package it

import "testing"

func TestSum(t *testing.T) {
	if got := Sum([]int{1, -2, 3}, 9); got != 4 {
		t.Errorf("it is %d", got)
	}
}

func TestFirst(t *testing.T) {
	if got := First([]int{0, 7}); got != 7 {
		t.Errorf("it is %d", got)
	}
}

func TestName(t *testing.T) {
	if Name(1) != "pod" || Name(2) != "pods" {
		t.Error("it has no name")
	}
}
`,
		"more/more_test.go": `package more

import (
	"testing"

	"example.com/it/it"
)

func TestTested(t *testing.T) {
	if got := it.TestedElsewhere(3); got != -6 {
		t.Errorf("it is %d", got)
	}
}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = `example.com/it/it: the tests notice 18 of 21 changes (85.7 %): killed 18, timed out 0, lived 2, not covered 1
lived it.go:14:11: > → >=
lived it.go:7:17: < → <=
not covered it.go:38:36: * → /
`
	var out strings.Builder
	if err := mutate(t.Context(), &out, []string{"./it/", "more"}); err != nil {
		t.Fatal(err)
	}
	lines := slices.Sorted(strings.Lines(out.String()))
	if got := regexp.MustCompile(" +").ReplaceAllString(strings.Join(lines, ""), " "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
