set(RETORT_DEVICES_SOURCES
  devices/cuda_plugin.cc
  devices/devices.cc
  devices/energy_meter.cc)
