package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
)

// auditLog is the audit log of the API server, one JSON event per line.
type auditLog struct{ path string }

// request holds the fields of an audit event that the benchmark uses.
type request struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
	Stage string `json:"stage"`
}

// what returns the verb and the resource of a request, such as "create pods" or "get discovery".
func (r request) what() string {
	resource := r.Object.Resource
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	if resource == "" {
		resource = "discovery"
	}
	return r.Verb + " " + resource
}

func (r request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

func (a auditLog) end() int64 { return must(os.Stat(a.path)).Size() }

// since reads the log from a position. It returns the account's completed requests and started watches whose user
// agent has the prefix agent.
func (a auditLog) since(place int64, agent string) []request {
	f := must(os.Open(a.path))
	defer f.Close()
	must(f.Seek(place, io.SeekStart))
	var found []request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		// Most requests come from the scheduler and kwok. Skip their lines without decoding.
		if !strings.Contains(lines.Text(), account) {
			continue
		}
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the last line may be incomplete
		}
		// Count a watch when it starts.
		answered := r.Stage == "ResponseComplete" && r.Verb != "watch" || r.Stage == "ResponseStarted" && r.Verb == "watch"
		if answered && r.User.Username == account && strings.HasPrefix(r.UserAgent, agent) {
			found = append(found, r)
		}
	}
	check(lines.Err())
	return found
}

// counts maps a verb and a resource, such as "create pods", to the number of requests.
type counts map[string]int

func count(requests []request, match func(request) bool) counts {
	c := counts{}
	for _, r := range requests {
		if match(r) {
			c[r.what()]++
		}
	}
	return c
}

func (c counts) sum() (n int) {
	for _, times := range c {
		n += times
	}
	return n
}

// statusWrites returns the number of status writes to ImoocPods and ReplicaSets.
func (c counts) statusWrites() int {
	n := 0
	for _, resource := range []string{"imoocpods", "replicasets"} {
		n += c["patch "+resource+"/status"] + c["update "+resource+"/status"]
	}
	return n
}
