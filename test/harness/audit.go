package harness

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Request is a line of the API server's audit log.
type Request struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	URI       string `json:"requestURI"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Stage string `json:"stage"`
	// Annotations tell, among others, whether it was allowed.
	Annotations map[string]string `json:"annotations"`
}

// Resource is the resource with its subresource, such as "imoocpods/scale".
func (r Request) Resource() string {
	if r.Object.Subresource == "" {
		return r.Object.Resource
	}
	return r.Object.Resource + "/" + r.Object.Subresource
}

// Writes reports whether the request changes anything.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// Requests lists the completed requests of a namespace that the API server has
// logged and that match.
func (c *Cluster) Requests(t *testing.T, namespace string, match func(Request) bool) []Request {
	t.Helper()
	f, err := os.Open(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var found []Request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), namespace) {
			continue
		}
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the last line may still be under way
		}
		if r.Object.Namespace == namespace && r.Stage == "ResponseComplete" && match(r) {
			found = append(found, r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// ByPlugin matches the requests of the plugin under test.
func ByPlugin(r Request) bool { return strings.HasPrefix(r.UserAgent, "kubectl-imoocpod/") }

// ByControllerOf matches the writes of the controllers in the process of a test.
func ByControllerOf(t *testing.T) func(Request) bool {
	return func(r Request) bool { return r.UserAgent == "kubectl-imoocpod/"+t.Name() && r.Writes() }
}
