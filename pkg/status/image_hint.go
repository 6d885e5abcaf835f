package status

import (
	"fmt"
	"slices"
)

// hintImages adds to problems with an image the commands that give the pods another one,
// for an object in whose pod template the image is.
func hintImages(o Object, problems []Problem) {
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || !slices.Contains([]Code{CodeImagePullFailed, CodeInvalidImageName}, p.Code) {
			continue
		}
		name := ShortType(o.Type) + "/" + o.Name
		problems[i].Hint += fmt.Sprintf("; to set another image: kubectl imoocpod set image %s %s=IMAGE%[3]s; to return to the last one: kubectl imoocpod undo %[1]s%[3]s",
			name, p.Container, inNamespace(o.Namespace))
	}
}
