package play

import "github.com/imoocpod/kubectl-imoocpod/test/apiserver"

// StatefulSets plays the controller of StatefulSets.
func StatefulSets(*apiserver.Server) {}
