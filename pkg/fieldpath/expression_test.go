package fieldpath

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

const rollout = `
status:
  phase: Healthy
  padded: " Healthy "
  updated: 3
  done: true
  nothing: null
  equation: a==b
  selector: {app: web}
  pools: [{name: hot, size: 1}, {name: cold, size: 2}]
`

func TestExpressionHolds(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]struct {
		holds bool
		err   string
	}{
		"{.status.phase}=Healthy":                       {true, ""},
		"{status.phase}=Healthy":                        {true, ""},
		".status.phase=Healthy":                         {true, ""},
		"status.phase=Healthy":                          {true, ""},
		"{.status.phase}='Healthy'":                     {true, ""},
		`{.status.phase}="Healthy"`:                     {true, ""},
		"{.status.padded}=Healthy":                      {true, ""},
		"{.status.phase}=Degraded":                      {false, ""},
		"{.status.updated}=3":                           {true, ""},
		"{.status.updated}=30":                          {false, ""},
		"{.status.done}=true":                           {true, ""},
		"{.status.equation}=a==b":                       {true, ""},
		"{.status.phase}":                               {true, ""},
		"{.status.selector}":                            {true, ""},
		"{.status.absent}":                              {false, ""},
		"{.status.absent}=3":                            {false, ""},
		`{.status.pools[?(@.name=="hot")].size}=1`:      {true, ""},
		`{.status.pools[?(@.name=="hot")].size}=2`:      {false, ""},
		`{.status.pools[?(@.name=="lukewarm")].size}=2`: {false, ""},
		"{.status.pools[*].size}=1":                     {false, "matches more than one value"},
		"{.status.pools[*].size}":                       {false, "matches more than one value"},
		"{.status.selector}=web":                        {false, "leads to an object or a list"},
		"{.status.pools}=hot":                           {false, "leads to an object or a list"},
		"{.status.pools[7].size}=1":                     {false, "find {.status.pools[7].size}: array index out of bounds"},
	} {
		e, err := ParseExpression(word)
		if err != nil {
			t.Errorf("ParseExpression(%s): %v", word, err)
			continue
		}
		if text, err := e.MarshalText(); err != nil || string(text) != word || e.String() != word {
			t.Errorf("%s is formatted as %s, and in JSON as %s", word, e, text)
		}
		holds, err := e.Holds(objects.Parse(t, rollout))
		if holds != want.holds || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("Holds of %s = %t, %v, want %+v", word, holds, err, want)
		}
	}
}

func TestParseExpressionRefuses(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"":                    "unexpected path string",
		"=3":                  "unexpected path string",
		"{}=3":                "unexpected path string",
		".":                   "unexpected path string",
		"{.status.a":          "unexpected path string",
		".status.a}":          "unexpected path string",
		"{.status.a}{.b}":     "unexpected path string",
		"{.status.a}=":        "needs a value after the equal sign",
		`{.status.a}=""`:      "needs a value after the equal sign",
		"{.status.pools[a}=3": `read "{.status.pools[a}"`,
	} {
		if e, err := ParseExpression(word); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseExpression(%q) = %+v, %v, want an error with %q", word, e, err, want)
		}
	}
}

// ParseExpression keeps a valid expression unchanged, and Holds does not panic.
func FuzzParseExpression(f *testing.F) {
	for _, word := range []string{"", "{.status.phase}=Healthy", `{.status.pools[?(@.name=="hot")].size}=1`, "a==b=c", "{..}=''", "{.status.pools[0:9:-1]}"} {
		f.Add(word)
	}
	obj := objects.Parse(f, rollout)
	f.Fuzz(func(t *testing.T, word string) {
		e, err := ParseExpression(word)
		if err != nil {
			return
		}
		if e.String() != word || !strings.HasPrefix(word, e.Path) {
			t.Errorf("ParseExpression(%q) has the path %q", word, e.Path)
		}
		_, _ = e.Holds(obj)
	})
}
