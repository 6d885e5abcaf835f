package lease

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
)

// ThisProcess describes a loop in this process, for its lease.
func ThisProcess(version string, scope leaserecord.Scope) leaserecord.Loop {
	l := leaserecord.Loop{User: person(), PID: os.Getpid(), Machine: process.Machine(), Version: version, Scope: scope}
	if host, err := os.Hostname(); err == nil {
		l.Host = host
	}
	// Two containers may agree in all of it but the random part.
	l.Holder = fmt.Sprintf("%s_%s_%d_%.8s", l.User, l.Host, l.PID, uuid.NewUUID())
	return l
}

// person is who runs this process; in a container that knows no names, a number.
func person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
