package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// Request is an entry of the API server's audit log.
type Request struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	Object    struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
	ImpersonatedUser *struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	Stage string `json:"stage"`
}

// Resource returns the resource with its subresource, such as "imoocpods/scale".
func (r Request) Resource() string {
	if r.Object.Subresource == "" {
		return r.Object.Resource
	}
	return r.Object.Resource + "/" + r.Object.Subresource
}

// Writes reports whether the verb is a write. This includes dry runs and access reviews.
func (r Request) Writes() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// auditLog caches the API server's audit log, so that repeated queries by tests read each line only once.
type auditLog struct {
	mu sync.Mutex
	// read is the number of bytes read. requests holds the completed requests by namespace.
	read     int64
	requests map[string][]Request
}

// readOn reads the lines that were logged since the last call.
func (l *auditLog) readOn(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(l.read, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // the last line may be incomplete
		}
		if err != nil {
			return err
		}
		l.read += int64(len(line))
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if r.Stage == "ResponseComplete" {
			l.requests[r.Object.Namespace] = append(l.requests[r.Object.Namespace], r)
		}
	}
}

// Requests returns the matching requests that the audit log contains for a namespace so far.
func (c *Cluster) Requests(t *testing.T, namespace string, match func(Request) bool) []Request {
	t.Helper()
	c.audit.mu.Lock()
	defer c.audit.mu.Unlock()
	if c.audit.requests == nil {
		c.audit.requests = map[string][]Request{}
	}
	if err := c.audit.readOn(c.AuditLog); err != nil {
		t.Fatal(err)
	}
	var found []Request
	for _, r := range c.audit.requests[namespace] {
		if match(r) {
			found = append(found, r)
		}
	}
	return found
}

// ByPlugin reports whether the plugin under test sent a request.
func ByPlugin(r Request) bool { return strings.HasPrefix(r.UserAgent, "kubectl-imoocpod/") }
