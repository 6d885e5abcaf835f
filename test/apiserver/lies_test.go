package apiserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// falsifier is a transport that replaces the server's responses to successful writes of workloads.
type falsifier struct {
	*apiserver.Server

	answer func(before, after map[string]any) any
}

func (f falsifier) RoundTrip(r *http.Request) (*http.Response, error) {
	write := r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/apps/")
	read := r.Clone(r.Context())
	read.Method, read.Body = http.MethodGet, nil
	before, err := f.Server.RoundTrip(read)
	if err != nil || !write {
		return before, err
	}
	was := decoded(before)
	after, err := f.Server.RoundTrip(r)
	if err != nil || after.StatusCode >= http.StatusMultipleChoices {
		return after, err
	}
	body, err := json.Marshal(f.answer(was, decoded(after)))
	after.Body = io.NopCloser(bytes.NewReader(body))
	return after, err
}

func decoded(resp *http.Response) (fields map[string]any) {
	_ = json.NewDecoder(resp.Body).Decode(&fields)
	return fields
}

// withMeta returns a function that changes a metadata field in a response.
func withMeta(field string, value any) func(_, after map[string]any) any {
	return func(_, after map[string]any) any {
		meta, _ := after["metadata"].(map[string]any)
		meta[field] = value
		return after
	}
}

// TestFalseWriteResponses checks that no command reports success if the server executes the write, but responds
// with something other than the written object.
func TestFalseWriteResponses(t *testing.T) {
	for what, answer := range map[string]func(before, after map[string]any) any{
		"the unchanged object": func(before, _ map[string]any) any { return before },
		"another name":         withMeta("name", "other"),
		"another namespace":    withMeta("namespace", "other"),
		"another UID":          withMeta("uid", "other"),
		"a list as labels":     withMeta("labels", []any{"x"}),
		"a Status Success": func(_, _ map[string]any) any {
			return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
		},
		"an empty object":      func(_, _ map[string]any) any { return map[string]any{} },
		"a list":               func(_, _ map[string]any) any { return []any{} },
		"null":                 func(_, _ map[string]any) any { return nil },
		"a string as metadata": func(_, after map[string]any) any { after["metadata"] = "x"; return after },
	} {
		for _, v := range verbs() {
			if v.creates && what == "the unchanged object" || what == "another UID" && (v.creates || strings.HasPrefix(v.line, "scale ")) {
				continue // there was no object before, or the command does not check the UID
			}
			t.Run(what+"/"+v.line, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					s := apiserver.New(t)
					if strings.HasPrefix(v.line, "undo ") {
						play.Cluster(s) // undo needs the revisions that controllers write
					}
					line := v.prepare(t, s, workloads()[0])
					var out, errOut bytes.Buffer
					connect := func(flags *genericclioptions.ConfigFlags) {
						s.Connect(flags)
						truthful := flags.WrapConfigFn
						flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
							config = truthful(config)
							config.Transport = falsifier{s, answer}
							return config
						}
					}
					err := command(t.Context(), connect, line, &out, &errOut)
					if err == nil || out.Len() > 0 {
						t.Errorf("got error %v, stdout %q, stderr %q, want an error, and nothing on stdout", err, out.String(), errOut.String())
					}
				})
			})
		}
	}
}
