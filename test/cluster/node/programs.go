package node

import (
	"embed"
	"io/fs"
)

// The module files and sources of the programs of a node, except the kubelet. The
// kubelet is built from the module of the control plane, because containerd requires
// different versions of the Kubernetes modules.
//
// The files are not named go.mod and go.sum, because Go does not embed files of
// another module.
var (
	//go:embed programs.mod
	goMod string
	//go:embed programs.sum
	goSum string
	//go:embed runc/main.go container/main.go
	sources embed.FS
)

// Program describes how to build a program.
type Program struct {
	Name, ImportPath string
	// Duration is the approximate time of a first build on two cores, if the earlier programs in
	// the list are already built.
	Duration string
	// Cgo means that the program needs a C compiler.
	Cgo bool
}

// Module is a Go module, and the programs to build from it.
type Module struct {
	GoMod, GoSum string
	// Sources holds additional files by path.
	Sources  map[string][]byte
	Tags     string
	Programs []Program
}

// Programs returns the module that builds the programs of a node, except the kubelet.
func Programs() (Module, error) {
	m := Module{
		GoMod:   goMod,
		GoSum:   goSum,
		Sources: map[string][]byte{},
		// Omit the parts of containerd that need C or that a node with one disk does not need.
		Tags: "no_btrfs,no_devmapper,no_zfs,no_aufs,no_erofs,no_blockio,no_rdt,no_tracing",
		Programs: []Program{
			{Name: "containerd", ImportPath: "github.com/containerd/containerd/v2/cmd/containerd", Duration: "2 minutes"},
			{Name: "containerd-shim-runc-v2", ImportPath: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", Duration: "5 seconds"},
			{Name: "bridge", ImportPath: "github.com/containernetworking/plugins/plugins/main/bridge", Duration: "10 seconds"},
			{Name: "loopback", ImportPath: "github.com/containernetworking/plugins/plugins/main/loopback", Duration: "5 seconds"},
			{Name: "host-local", ImportPath: "github.com/containernetworking/plugins/plugins/ipam/host-local", Duration: "5 seconds"},
			{Name: "runc.real", ImportPath: "github.com/opencontainers/runc", Duration: "10 seconds", Cgo: true},
			{Name: "runc", ImportPath: "./runc", Duration: "5 seconds"},
			{Name: containerProgram, ImportPath: "./container", Duration: "5 seconds"},
		},
	}
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		m.Sources[path], err = sources.ReadFile(path)
		return err
	})
	return m, err
}
