package check

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// The roles in deploy/rbac.
const (
	Viewer     = "imoocpod-viewer"
	Editor     = "imoocpod-editor"
	Controller = "imoocpod-controller"
)

// BindRoles replaces the commands that grant single rights with a command that binds a role. If the
// role is not installed, a command that installs it comes first. If any fix needs the editor role,
// no fix binds the viewer role, because the editor role includes the rights of the viewer role.
func (c Checker) BindRoles(checks []Result, needed []VerbRights, installed sets.Set[string]) {
	edits := false
	for i, r := range checks {
		edits = edits || len(r.Fix) > 0 && needed[i].Role == Editor
	}
	for i := range checks {
		role := needed[i].Role
		if role == Viewer && edits {
			role = Editor
		}
		kind := RoleKind(role, c.Namespace)
		if len(checks[i].Fix) == 0 || kind == "" {
			continue
		}
		checks[i].Fix = nil
		if !installed.Has(role) {
			checks[i].Fix = []string{c.Commands.Line(commandline.Plugin("install", "--roles").In(c.Namespace))}
		}
		checks[i].Fix = append(checks[i].Fix, c.Commands.Line(c.bind(role, kind)))
	}
}

// RoleKind returns the kind of a role that "install --roles" installs for a namespace or, if namespace is "", for all
// namespaces: "clusterrole", "role", or "" if that command does not install the role.
func RoleKind(role, namespace string) string {
	switch {
	case role == Viewer || role == Editor:
		return "clusterrole"
	case role == Controller && namespace != metav1.NamespaceAll:
		return "role"
	}
	return ""
}

func (c Checker) bind(role, kind string) commandline.Command {
	binding := "rolebinding"
	if c.Namespace == metav1.NamespaceAll {
		binding = "clusterrolebinding"
	}
	return commandline.Kubectl("create", binding, nameFor(role, c.User), "--"+kind+"="+role, subject(c.User)).In(c.Namespace)
}

// nameFor adds the user to the name of a role, so that the fixes for different users create different objects.
func nameFor(role, user string) string {
	return role + "-" + regexp.MustCompile(`[^a-z0-9.-]`).ReplaceAllString(strings.ToLower(user), "-")
}
