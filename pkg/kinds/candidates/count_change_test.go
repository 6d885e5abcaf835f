package candidates

import (
	"math"
	"testing"
)

func TestCountChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		word    string
		from    int64
		want    int32
		refused string
	}{
		{"+2", 3, 5, ""},
		{"2", 3, 5, ""},
		{"-1", 3, 2, ""},
		{"-3", 3, 0, ""},
		{"0", 3, 3, ""},
		{"50%", 4, 6, ""},
		{"+50%", 3, 5, ""}, // 1.5 is rounded to 2
		{"-50%", 3, 1, ""}, // -1.5 is rounded to -2
		{"1%", 1, 2, ""},
		{"-1%", 1, 0, ""},
		{"1%", 100, 101, ""},
		{"50%", 0, 0, ""},
		{"-100%", 7, 0, ""},
		{"300%", 2, 8, ""},
		{"-0", 3, 3, ""},
		{"+2147483647", 0, math.MaxInt32, ""},
		{"-2147483648", 0, 0, "cannot scale by -2147483648: there are no replicas"},
		{"-4", 3, 0, "cannot scale by -4: there are only 3 replicas"},
		{"+1", math.MaxInt32, 0, "cannot scale by +1: with 2147483647 replicas, the result is more than 2147483647"},
		{"2147483647%", math.MaxInt32, 0, "cannot scale by +2147483647%: with 2147483647 replicas, the result is more than 2147483647"},
		{"+1", -1, 0, "the present count -1 is not valid"},
		{"+1", math.MaxInt32 + 1, 0, "the present count 2147483648 is not valid"},
	} {
		c, err := ParseCountChange(test.word)
		if err != nil {
			t.Errorf("ParseCountChange(%s): %v", test.word, err)
			continue
		}
		got, err := c.From(test.from)
		if test.refused == "" && err != nil || test.refused != "" && (err == nil || err.Error() != test.refused) {
			t.Errorf("%s from %d: error %v, want %q", test.word, test.from, err, test.refused)
		}
		if got != test.want {
			t.Errorf("%s from %d = %d, want %d", test.word, test.from, got, test.want)
		}
	}
	for _, word := range []string{"", "+", "-", "%", "+%", "two", "1.5", "50 %", " 1", "1 ", "--1", "+-1", "1%%", "0x1", "1e3", "1_000", "-101%", "2147483648", "-2147483649", "99999999999999999999%"} {
		if c, err := ParseCountChange(word); err == nil {
			t.Errorf("ParseCountChange(%q) = %s, want an error", word, c)
		}
	}
}

// Formatting and parsing a change returns the same change, and From never changes a count in the opposite direction.
func FuzzParseCountChange(f *testing.F) {
	for _, word := range []string{"+2", "-1", "50%", "-50%", "0", "-100%", "2147483647%", "x"} {
		f.Add(word, int64(3))
	}
	f.Fuzz(func(t *testing.T, word string, from int64) {
		c, err := ParseCountChange(word)
		if err != nil {
			return
		}
		if again, err := ParseCountChange(c.String()); err != nil || again != c {
			t.Fatalf("ParseCountChange(%q) = %q, which parses as %v, %v", word, c, again, err)
		}
		to, err := c.From(from)
		if err != nil {
			return
		}
		n := int64(to)
		if n < 0 || c.by >= 0 && n < from || c.by <= 0 && n > from || c.by != 0 && from != 0 && n == from {
			t.Errorf("%s from %d = %d: negative, unchanged, or in the wrong direction", c, from, n)
		}
	})
}
