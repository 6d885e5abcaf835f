package cmd

import "github.com/spf13/cobra"

func newUnparkCommand(common commonOptions) *cobra.Command {
	o := &parkOptions{change: newChangeFlags(common, "unparked"), back: true}
	return o.command(&cobra.Command{
		Use:   "unpark (NAME | TYPE/NAME ... | TYPE NAME ... | TYPE -l label | -f FILENAME | --all-kinds) [--dry-run=server|client|none] [--wait]",
		Short: "Restore the replica count of a parked object",
		Long: `Restore the replica count that "park" has saved in the annotation imoocpod.dev/parked
of an ImoocPod (NAME) or of other objects (TYPE/NAME, or other arguments of kubectl),
and remove the annotation.

Both change in one write, and only if nobody has changed the object in between. If
someone has scaled the object since it was parked, the command leaves it as it is
and exits with code 5. Objects that are not parked stay as they are.

With --all-kinds, or with -l and no type, the command restores the parked objects of
all types in the namespace.`,
		Example: `  # Restore an ImoocPod
  kubectl imoocpod unpark foo

  # Restore all objects with a label, whatever their type
  kubectl imoocpod unpark -l env=dev`,
	})
}
