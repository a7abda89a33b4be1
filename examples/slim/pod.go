package main

import (
	"unique"

	"k8s.io/apimachinery/pkg/types"
)

// Pod is what this program keeps of a Pod: six strings, 96 bytes and what they point to, where the API's type takes more
// than a kilobyte before the first container. What has no field here is skipped while it is read.
//
// The four of Metadata are what a store wants to know of any object.
type Pod struct {
	Metadata struct {
		Namespace       string    `json:"namespace"`
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// These make it a store.Object.

func (p *Pod) GetNamespace() string       { return p.Metadata.Namespace }
func (p *Pod) GetName() string            { return p.Metadata.Name }
func (p *Pod) GetUID() types.UID          { return p.Metadata.UID }
func (p *Pod) GetResourceVersion() string { return p.Metadata.ResourceVersion }

// share is a transform: it makes all Pods of a node share one copy of the node's name, and likewise for the other strings
// of which there are few.
func share(p *Pod) (*Pod, error) {
	for _, s := range []*string{&p.Metadata.Namespace, &p.Spec.NodeName, &p.Status.Phase} {
		*s = unique.Make(*s).Value()
	}
	return p, nil
}
