package node

import (
	"embed"
	"io/fs"
)

// The module files and sources from which the launcher builds the programs of a
// node but the kubelet, which comes from the module of the control plane:
// containerd asks for other versions of the Kubernetes modules.
//
// They bear other names than go.mod and go.sum because Go embeds nothing of
// another module.
var (
	//go:embed programs.mod
	goMod string
	//go:embed programs.sum
	goSum string
	//go:embed runc/main.go container/main.go
	sources embed.FS
)

// Program is a program of a node.
type Program struct {
	Name, ImportPath string
	// Duration says about how long a first build takes on two cores, after the
	// programs before it.
	Duration string
	// Cgo says that it is linked with C, for which there must be a compiler.
	Cgo bool
}

// Module is what the programs of a node are built from.
type Module struct {
	GoMod, GoSum string
	// Sources are further files, by their path.
	Sources  map[string][]byte
	Tags     string
	Programs []Program
}

// Programs returns the module that holds the programs of a node.
func Programs() (Module, error) {
	m := Module{
		GoMod:   goMod,
		GoSum:   goSum,
		Sources: map[string][]byte{},
		// Of containerd, what a node on one disk does not need, or needs C for.
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
