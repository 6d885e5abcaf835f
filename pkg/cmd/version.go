package cmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/version"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

type versionOptions struct {
	common commonOptions
	only   bool
	output *output
}

// versions is the output of "version" as JSON or YAML.
type versions struct {
	ClientVersion string             `json:"clientVersion"`
	ServerVersion *version.Info      `json:"serverVersion,omitempty"`
	Controllers   []check.Deployment `json:"controllers,omitempty"`
}

func newVersionCommand(common commonOptions) *cobra.Command {
	o := &versionOptions{common: common}
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
	return command(cmd, o.complete, o.run)
}

func (o *versionOptions) complete(args []string) error {
	return cmp.Or(noArgs("version", args), o.output.validate())
}

func (o *versionOptions) run(ctx context.Context) error {
	v := versions{ClientVersion: o.common.version}
	var serverErr error
	if !o.only {
		serverErr = o.askServer(ctx, &v)
	}
	err := o.print(v) // the client version is useful even without the server version
	o.common.warnOfSkew(v.Controllers)
	return cmp.Or(err, serverErr)
}

func (o *versionOptions) print(v versions) error {
	if o.output.format != "" {
		return o.output.write(o.common.streams.Out, v, "  ")
	}
	lines := []string{"Client Version: " + v.ClientVersion}
	if v.ServerVersion != nil {
		lines = append(lines, "Server Version: "+v.ServerVersion.GitVersion)
	}
	for _, c := range v.Controllers {
		lines = append(lines, fmt.Sprintf("Controller Version: %s (namespace %s)", cmp.Or(c.Version, "unknown"), c.Namespace))
	}
	return printLines(o.common.streams.Out, lines)
}

// askServer adds the versions of the server and of the controllers. After an error, v contains what it has read so far.
func (o *versionOptions) askServer(ctx context.Context, v *versions) error {
	c, err := o.common.connect()
	if err != nil {
		return err
	}
	if v.ServerVersion, err = c.ServerVersion(ctx); err != nil {
		return err
	}
	v.Controllers, err = doctor.Controllers(ctx, c.Dynamic, c.namespace)
	return err
}

func (o *commonOptions) warnOfSkew(found []check.Deployment) {
	for _, c := range found {
		if c.Version != "" && c.Version != o.version {
			o.printErrf("Warning: the controller in namespace %s has version %s, and this program has version %s", c.Namespace, c.Version, o.version)
		}
	}
}
