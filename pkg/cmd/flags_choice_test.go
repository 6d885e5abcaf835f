package cmd

import "testing"

// One of the words, and nothing that merely stands in their list.
func TestChoice(t *testing.T) {
	t.Parallel()
	value := "wait"
	c := choice[string]{&value, []string{"wait", "exit"}}
	for _, word := range []string{"", "or", "wai", " ", `"`, `wait" or "exit`, "WAIT"} {
		if err := c.Set(word); err == nil || err.Error() != `must be "wait" or "exit"` || value != "wait" {
			t.Errorf("%q: %v, and the value is %q", word, err, value)
		}
	}
	if err := c.Set("exit"); err != nil || c.String() != "exit" {
		t.Errorf("exit: %v, and the value is %q", err, c)
	}
}
