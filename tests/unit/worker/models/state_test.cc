#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <dnnl.hpp>

#include "worker/run/failure.h"
#include "worker/tensors/tensor_codec.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {
namespace {

TEST(TensorCodec, KeepsEveryBitWhateverTheLayout) {
  const at::Tensor plain = at::randn({2, 3, 4, 5});
  const at::Tensor last = plain.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(MakeTensorBlob("x", plain), MakeTensorBlob("x", last));
  const auto back = MakeTensorFromBlob(MakeTensorBlob("x", last));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->equal(plain));
  for (const at::ScalarType type : {at::kDouble, at::kInt, at::kLong, at::kByte}) {
    const at::Tensor value = at::arange(6).to(type).view({2, 3});
    EXPECT_TRUE(MakeTensorFromBlob(MakeTensorBlob("x", value))->equal(value));
  }
}

TEST(TensorCodec, BytesOfAnotherShapeAreDamage) {
  storage::TensorBlob blob = MakeTensorBlob("x", at::zeros({4}));
  blob.shape = {5};
  EXPECT_EQ(MakeTensorFromBlob(blob).status().code(), StatusCode::damage);
}

TEST(TensorCodec, DigestSeesNamesShapesAndBits) {
  const at::Tensor x = at::zeros({4});
  const std::string digest = ComputeDigest({MakeTensorBlob("x", x)});
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_NE(digest, ComputeDigest({MakeTensorBlob("y", x)}));
  EXPECT_NE(digest, ComputeDigest({MakeTensorBlob("x", x.view({2, 2}))}));
  EXPECT_NE(digest, ComputeDigest({MakeTensorBlob("x", at::full({4}, -0.0))}));
}

TEST(TrainState, RefusesAnotherShapeAndChangesNothing) {
  at::Tensor a = at::zeros({3}), b = at::zeros({2});
  TrainState state;
  state.Add("a", a);
  state.Add("b", b);
  const Status status = state.Load({MakeTensorBlob("a", at::ones({3})), MakeTensorBlob("b", at::ones({5}))});
  EXPECT_EQ(status.code(), StatusCode::damage);
  EXPECT_NE(status.message().find("'b'"), std::string::npos);
  EXPECT_EQ(a.sum().item<double>(), 0);
}

TEST(TrainState, MissingTensorIsDamage) {
  TrainState state;
  state.Add("a", at::zeros({3}));
  EXPECT_EQ(state.Load({}).code(), StatusCode::damage);
}

// What CUDA and its libraries say, as LibTorch throws it: there need not be a device to know it again.
TEST(CatchTorch, TellsADeviceFromItsMemoryAndFromTheRest) {
  const auto kind_of = [](const char* text) {
    return CatchTorch([&]() -> std::optional<Failure> {
             TORCH_CHECK(false, text);
             return std::nullopt;
           })
        ->kind;
  };
  for (const char* const poisoned :
       {"CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported",
        "CUDA error: device-side assert triggered",
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`",
        "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"})
    EXPECT_EQ(kind_of(poisoned), FailureKind::device) << poisoned;
  for (const char* const memory :
       {"CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"})
    EXPECT_EQ(kind_of(memory), FailureKind::out_of_memory) << memory;
  EXPECT_EQ(kind_of("mat1 and mat2 shapes cannot be multiplied"), FailureKind::internal);
  const auto device_memory = CatchTorch([]() -> std::optional<Failure> {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "Tried to allocate 2.00 GiB");
    return std::nullopt;
  });
  EXPECT_EQ(device_memory->kind, FailureKind::out_of_memory);
}

TEST(CatchTorch, TellsMemoryFromTheRest) {
  const auto memory = CatchTorch([]() -> std::optional<Failure> { throw std::bad_alloc(); });
  EXPECT_EQ(memory->kind, FailureKind::out_of_memory);
  const auto huge = CatchTorch([]() -> std::optional<Failure> {
    at::empty({std::int64_t{1} << 50}, at::kFloat);
    return std::nullopt;
  });
  EXPECT_EQ(huge->kind, FailureKind::out_of_memory) << huge->detail;
  const auto kernel = CatchTorch(
      []() -> std::optional<Failure> { throw dnnl::error(dnnl_out_of_memory, "could not create a primitive"); });
  EXPECT_EQ(kernel->kind, FailureKind::out_of_memory);
  const auto no_kernel = CatchTorch(
      []() -> std::optional<Failure> { throw dnnl::error(dnnl_unimplemented, "could not create a primitive"); });
  EXPECT_EQ(no_kernel->kind, FailureKind::internal);
  const auto shape = CatchTorch([]() -> std::optional<Failure> {
    static_cast<void>(at::zeros({2}).view({3}));
    return std::nullopt;
  });
  EXPECT_EQ(shape->kind, FailureKind::internal);
  EXPECT_FALSE(CatchTorch([]() -> std::optional<Failure> { return std::nullopt; }));
}

}  // namespace
}  // namespace retort::worker
