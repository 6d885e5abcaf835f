package cmd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// nameProblem says what is wrong with the name of an object, before a server is
// asked, in fewer words than the API machinery's.
func nameProblem(name string) string {
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return "it is empty"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("it must be no longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case len(problems) > 0:
		return "only lowercase letters, digits, '-', and '.' are allowed, with a letter or digit at the start, at the end, and around each '.'"
	}
	return ""
}

// checkLength refuses what is too long for the name of a new object of a kind
// that this program ships. The other verbs ask a server for longer names too,
// which an older CRD may have let in.
func checkLength(objectName string) error {
	if len(objectName) > apis.MaxNameLength {
		return fmt.Errorf("invalid name %q: it must be no longer than %d characters", objectName, apis.MaxNameLength)
	}
	return nil
}
