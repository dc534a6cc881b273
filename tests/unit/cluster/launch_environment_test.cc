#include "cluster/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/mpi_world.h"

namespace retort::cluster {
namespace {

using ::testing::HasSubstr;

TEST(LaunchEnvironmentTest, APlainProcessIsAloneAndMayRun) {
  const auto launch = ReadLaunchEnvironment({"HOME=/root", "SLURM_NTASKS=8", "SLURM_JOB_ID=3"});
  EXPECT_FALSE(launch.under_mpi);
  EXPECT_TRUE(CheckWorldSize(launch, 1).ok());
  EXPECT_EQ(launch.local_size, 1);
}

TEST(LaunchEnvironmentTest, MpirunIsRecognisedWithItsLocalRanks) {
  const auto launch =
      ReadLaunchEnvironment({"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                             "SLURM_STEP_NUM_TASKS=1", "RETORT_EXIT_CODE_FILE=/tmp/x"});
  EXPECT_TRUE(launch.under_mpi);
  EXPECT_EQ(launch.declared_ranks, 3);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.exit_code_file, "/tmp/x");
  EXPECT_TRUE(CheckWorldSize(launch, 3).ok());
}

TEST(LaunchEnvironmentTest, SingletonsOfALauncherAreRefusedWithTheCommandToUse) {
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE=4", "SLURM_STEP_NUM_TASKS=4", "PMI_SIZE=4",
                                     "MV2_COMM_WORLD_SIZE=4", "MPI_LOCALNRANKS=4"}) {
    const Status status = CheckWorldSize(ReadLaunchEnvironment({variable}), 1);
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_THAT(status.message(), HasSubstr(variable));
    EXPECT_THAT(status.message(), HasSubstr("cluster/launch/mpirun.sh -np 4 retort run"));
  }
}

TEST(LaunchEnvironmentTest, ALaterRankIsRefusedWhereNobodySaysHowManyThereAre) {
  for (const std::string name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK"}) {
    const Status status = CheckWorldSize(ReadLaunchEnvironment({name + "=1"}), 1);
    EXPECT_EQ(status.code(), StatusCode::environment) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
    for (const char* const first : {"0", "", "x"})
      EXPECT_TRUE(CheckWorldSize(ReadLaunchEnvironment({name + "=" + first}), 1).ok()) << name << first;
  }
  EXPECT_TRUE(CheckWorldSize(ReadLaunchEnvironment({"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1"}), 2).ok());
}

TEST(LaunchEnvironmentTest, SrunWithPmixOpensMpiAndWithoutDoesNot) {
  EXPECT_TRUE(ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=2", "PMIX_RANK=0"}).under_mpi);
  EXPECT_FALSE(ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=2"}).under_mpi);
}

TEST(LaunchEnvironmentTest, SlurmsListOfTasksIsReadForThisNode) {
  const auto local_size = [](const std::string& list, const std::string& node, const std::string& rank) {
    return ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=7", "SLURM_STEP_TASKS_PER_NODE=" + list, "SLURM_NODEID=" + node,
                                  "SLURM_LOCALID=" + rank})
        .local_size;
  };
  EXPECT_EQ(local_size("2(x3),1", "0", "1"), 2);
  EXPECT_EQ(local_size("2(x3),1", "2", "0"), 2);
  EXPECT_EQ(local_size("2(x3),1", "3", "0"), 1);
  EXPECT_EQ(local_size("4,3", "1", "0"), 3);
  for (const char* const wrong : {"", "x", "2(3)", "2(x", "2(x3),1,"})
    EXPECT_EQ(local_size(wrong, "9", "2"), 3) << wrong;  // what its own number shows
}

TEST(LaunchEnvironmentTest, SrunMayGiveEachTaskDevicesOfItsOwn) {
  EXPECT_TRUE(ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=4", "SLURM_GPUS_PER_TASK=1"}).own_devices);
  EXPECT_TRUE(ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=4", "SLURM_TRES_PER_TASK=cpu:2,gres/gpu:1"}).own_devices);
  EXPECT_FALSE(ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=4", "SLURM_TRES_PER_TASK=cpu:2"}).own_devices);
  // Under mpirun all ranks of a host see what its daemon sees, also in such an allocation.
  EXPECT_FALSE(ReadLaunchEnvironment({"OMPI_COMM_WORLD_SIZE=4", "SLURM_GPUS_PER_TASK=1"}).own_devices);
}

TEST(LaunchEnvironmentTest, ASizeThatIsNoNumberIsRefusedAndAnEmptyOneIsNone) {
  for (const std::string name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    for (const char* const value : {"x", "3x", "-1", "0", " "}) {
      const Status status = CheckWorldSize(ReadLaunchEnvironment({name + "=" + value}), 1);
      EXPECT_EQ(status.code(), StatusCode::environment) << name << value;
      EXPECT_THAT(status.message(), HasSubstr(name + " to something that is no number"));
    }
    const LaunchEnvironment launch = ReadLaunchEnvironment({name + "="});
    EXPECT_FALSE(launch.under_mpi);
    EXPECT_TRUE(CheckWorldSize(launch, 1).ok());
  }
}

TEST(LaunchEnvironmentTest, AVariableIsFoundByItsWholeName) {
  EXPECT_EQ(FindVariable({"AB=1", "A=2", "A=3"}, "A"), "2");
  EXPECT_EQ(FindVariable({"A="}, "A"), "");
  EXPECT_FALSE(FindVariable({"AB=1"}, "A").has_value());
}

TEST(MpiWorldTest, AMissingLibraryIsNamedWithTheRemedy) {
  LaunchEnvironment launch;
  launch.mpi_library = "/nonexistent/libretort_mpi.so";
  const auto world = OpenMpiWorld(launch);
  ASSERT_FALSE(world.ok());
  EXPECT_EQ(world.status().code(), StatusCode::environment);
  EXPECT_THAT(world.status().message(), HasSubstr("/nonexistent/libretort_mpi.so"));
  EXPECT_THAT(world.status().message(), HasSubstr("openmpi-bin"));
}

TEST(MpiWorldTest, TheLibraryLiesBesideTheProgram) {
  EXPECT_THAT(FindMpiLibrary(ReadLaunchEnvironment({"RETORT_MPI_LIBRARY="})), ::testing::EndsWith("/libretort_mpi.so"));
  EXPECT_EQ(FindMpiLibrary(ReadLaunchEnvironment({"RETORT_MPI_LIBRARY=/opt/x.so"})), "/opt/x.so");
}

TEST(MpiWorldTest, AnotherLibraryIsRefusedWithTheRemedy) {
  const auto version = ReadMpiVersion("libm.so.6");
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.status().code(), StatusCode::environment);
  EXPECT_THAT(version.status().message(), HasSubstr("libm.so.6 is no plug-in of this version of retort"));
  EXPECT_THAT(version.status().message(), HasSubstr("cluster/mpi"));
}

TEST(MpiWorldTest, AnInterfaceOfAnotherVersionIsRefused) {
  const auto version = ReadMpiVersion(OTHER_MPI_INTERFACE);
  ASSERT_FALSE(version.ok());
  EXPECT_THAT(version.status().message(), HasSubstr("has interface 99, and this retort needs 1"));
}

TEST(MpiWorldTest, OnlyALibraryOfAnotherMpiJoinsPmi) {
  LaunchEnvironment launch = ReadLaunchEnvironment({"PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_TRUE(launch.under_pmi);
  launch.mpi_library = OPEN_MPI_PRETENDED;
  EXPECT_FALSE(MayJoinWorld(launch));
  launch.mpi_library = MPICH_PRETENDED;
  EXPECT_TRUE(MayJoinWorld(launch));
  launch.mpi_library = "/nonexistent/libretort_mpi.so";
  EXPECT_FALSE(MayJoinWorld(launch));
  launch = ReadLaunchEnvironment({});
  launch.mpi_library = MPICH_PRETENDED;
  EXPECT_FALSE(MayJoinWorld(launch));
}

}  // namespace
}  // namespace retort::cluster
