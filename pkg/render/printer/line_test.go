package printer

import (
	"slices"
	"testing"
)

func TestWrapped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		most int
		want []string
	}{
		{"", 3, []string{""}},
		{"kubectl get web-7887 -n a", 3, []string{"kubectl", "get", "web-7887 -n a"}}, // no break at a hyphen
		{"0123456789abcd e", 3, []string{"0123456789", "abcd e"}},
		{"a 0123456789abcd e", 2, []string{"a", "0123456789 abcd e"}},
		{"0123456789 0123456789 0123456789", 2, []string{"0123456789", "0123456789 0123456789"}},
	} {
		if got := wrapped(test.text, 10, test.most); !slices.Equal(got, test.want) {
			t.Errorf("wrapped(%q, 10, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
