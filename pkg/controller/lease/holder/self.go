package holder

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Self returns the record of a loop in this process. Each call generates a new Holder.
func Self(version string, scope leaserecord.Scope) leaserecord.Loop {
	l := leaserecord.Loop{User: person(), PID: os.Getpid(), Machine: Machine(), Version: version, Scope: scope}
	l.Host, _ = os.Hostname() // empty if unknown
	// In two containers, everything except the random part can be equal.
	l.Holder = fmt.Sprintf("%s_%s_%d_%.8s", l.User, l.Host, l.PID, uuid.NewUUID())
	return l
}

// person returns the name of the user who runs this process, or the user ID if the name is unknown.
func person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
