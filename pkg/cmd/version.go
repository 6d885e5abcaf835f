package cmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/version"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

type versionOptions struct {
	commonOptions
	only   bool
	output *output
}

// versions is what "version -o json" shows.
type versions struct {
	ClientVersion string              `json:"clientVersion"`
	ServerVersion *version.Info       `json:"serverVersion,omitempty"`
	Controllers   []doctor.Controller `json:"controllers,omitempty"`
}

func newVersionCommand(common commonOptions) *cobra.Command {
	o := &versionOptions{commonOptions: common}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the plugin, the server and the controllers",
		Example: `  # Print all versions
  kubectl imoocpod version

  # Print the version of the plugin, without asking the server
  kubectl imoocpod version --client`,
	}
	cmd.Flags().BoolVar(&o.only, "client", false, "If true, shows client version only (no server required).")
	o.output = addOutputFlag(cmd, "Output format. One of: (%s).", "json", "yaml")
	return command(cmd, o.complete, o.validate, o.Run)
}

func (o *versionOptions) complete(args []string) error { return noArgs("version", args) }

func (o *versionOptions) validate() error { return o.output.validate() }

func (o *versionOptions) Run(ctx context.Context) error {
	v := versions{ClientVersion: o.version}
	var serverErr error
	if !o.only {
		v.ServerVersion, serverErr = o.clients.ServerVersion(ctx)
		if serverErr == nil {
			v.Controllers, serverErr = controllerVersions(ctx, o.clients)
		}
	}
	// The client's version is worth having also where the server's is not to be had.
	if err := o.print(v); err != nil {
		return err
	}
	if serverErr != nil {
		return serverErr
	}
	return o.warnOfSkew(v.Controllers)
}

func controllerVersions(ctx context.Context, c *kube.Factory) ([]doctor.Controller, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	return doctor.Controllers(ctx, client, namespace)
}

func (o *versionOptions) print(v versions) error {
	if o.output.format != "" {
		return o.output.write(o.streams.Out, v, "  ")
	}
	lines := []string{"Client Version: " + v.ClientVersion}
	if v.ServerVersion != nil {
		lines = append(lines, "Server Version: "+v.ServerVersion.GitVersion)
	}
	for _, d := range v.Controllers {
		lines = append(lines, fmt.Sprintf("Controller Version: %s (namespace %s)", cmp.Or(d.Version, "unknown"), d.Namespace))
	}
	for _, line := range lines {
		if err := escape.PrintLine(o.streams.Out, "%s", line); err != nil {
			return err
		}
	}
	return nil
}

// warnOfSkew says which controllers are not of this program's version.
func (o *commonOptions) warnOfSkew(found []doctor.Controller) error {
	for _, d := range found {
		if d.Version == "" || d.Version == o.version {
			continue
		}
		if err := escape.PrintLine(o.streams.ErrOut, "Warning: the controller in namespace %s has version %s, and this program has version %s", d.Namespace, d.Version, o.version); err != nil {
			return err
		}
	}
	return nil
}
