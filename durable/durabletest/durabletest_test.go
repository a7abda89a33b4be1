package durabletest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type obj = *unstructured.Unstructured

func TestMemory(t *testing.T) {
	Test(t, func(testing.TB) Place[obj] { return newMemory[obj]().Place() })
}
