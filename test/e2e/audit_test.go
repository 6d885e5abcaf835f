package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// request is a line of the API server's audit log.
type request struct {
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

// resource is the resource with its subresource, such as "imoocpods/scale".
func (r request) resource() string {
	if r.Object.Subresource == "" {
		return r.Object.Resource
	}
	return r.Object.Resource + "/" + r.Object.Subresource
}

func (r request) writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// audited lists the completed requests of a namespace that the API server has
// logged and that match.
func audited(t *testing.T, namespace string, match func(request) bool) []request {
	t.Helper()
	f, err := os.Open(cluster.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var found []request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), namespace) {
			continue
		}
		var r request
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

// byPlugin matches the requests of the plugin under test.
func byPlugin(r request) bool { return strings.HasPrefix(r.UserAgent, "kubectl-imoocpod/") }
