package outcome

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// Join does not nest the errors of several objects, because a command prints each of them on its own.
func TestJoin(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	wrapped := fmt.Errorf("both: %w", Errors{b, c})
	for name, test := range map[string]struct {
		errs []error
		want error
	}{
		"none":                  {nil, nil},
		"no error":              {[]error{nil, nil}, nil},
		"one error":             {[]error{nil, a}, a},
		"two errors":            {[]error{a, nil, b}, Errors{a, b}},
		"joined errors":         {[]error{a, Join([]error{b, c}), nil}, Errors{a, b, c}},
		"only joined errors":    {[]error{nil, Join([]error{b, c})}, Errors{b, c}},
		"wrapped joined errors": {[]error{a, wrapped}, Errors{a, wrapped}},
	} {
		if got := Join(test.errs); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: Join = %#v, want %#v", name, got, test.want)
		}
	}
}
